// A wire that can be cut: a TCP proxy between a browser and the server.

import { connect, createServer } from "node:net";
import { once } from "node:events";

/** Leads to `url`; `cut()` ends every connection and accepts no other until `mend()`. */
export async function startProxy(url) {
  const { hostname, port } = new URL(url);
  const open = new Set();
  let isCut = false;

  const server = createServer((near) => {
    if (isCut) return near.destroy();
    const far = connect(Number(port), hostname);
    for (const [one, other] of [[near, far], [far, near]]) {
      open.add(one);
      one.pipe(other);
      one.on("error", () => other.destroy());
      one.on("close", () => {
        open.delete(one);
        other.destroy();
      });
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");

  const hangUp = () => open.forEach((socket) => socket.destroy());
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    cut() {
      isCut = true;
      hangUp();
    },
    mend() {
      isCut = false;
    },
    stop() {
      hangUp();
      server.close();
    },
  };
}
