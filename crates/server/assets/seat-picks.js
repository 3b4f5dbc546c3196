// Seats picked on the map are named in the form beneath it, so that what is sent is what stands there to be read.

const form = document.querySelector("[data-picks-form]");
const names = form?.elements.names;
const picked = form?.querySelector("[data-picked]");

document.querySelector("seat-map")?.addEventListener("pick", ({ detail: { units } }) => {
  names.value = units.join(" ");
  picked.textContent = units.length ? `${units.length} ${units.length === 1 ? "seat" : "seats"} picked` : "";
});
