//! The reference page, made once from the OpenAPI document: what the page says is what the document says.

use askama::Template;
use serde_json::Value;
use utoipa::openapi::OpenApi;

#[derive(Template)]
#[template(path = "docs.html")]
struct Reference {
    title: String,
    version: String,
    description: String,
    groups: Vec<Group>,
    shapes: Vec<Shape>,
}

/// The operations of one tag.
struct Group {
    name: String,
    anchor: String,
    description: String,
    operations: Vec<Operation>,
}

struct Operation {
    id: String,
    method: String,
    path: String,
    summary: String,
    description: String,
    access: String,
    parameters: Vec<Parameter>,
    /// The shape of the body, and an example of it to try.
    body: Option<Body>,
    answers: Vec<Answer>,
}

struct Parameter {
    name: String,
    place: String,
    required: bool,
    description: String,
}

struct Body {
    shape: String,
    example: String,
}

struct Answer {
    status: String,
    description: String,
    shape: String,
}

/// A named schema, as JSON.
struct Shape {
    name: String,
    description: String,
    json: String,
}

pub(crate) fn page(document: &OpenApi) -> String {
    let document = serde_json::to_value(document).expect("the document is plain data");
    let text = |pointer: &str| text_at(&document, pointer);
    let reference = Reference {
        title: text("/info/title"),
        version: text("/info/version"),
        description: text("/info/description"),
        groups: each(&document, "/tags").map(|tag| group(&document, tag)).collect(),
        shapes: fields(&document, "/components/schemas").map(|(name, schema)| shape(name, schema)).collect(),
    };
    reference.render().expect("a template of plain texts renders")
}

fn text_at(value: &Value, pointer: &str) -> String {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn each<'a>(value: &'a Value, pointer: &str) -> impl Iterator<Item = &'a Value> {
    value.pointer(pointer).and_then(Value::as_array).into_iter().flatten()
}

fn fields<'a>(value: &'a Value, pointer: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    value.pointer(pointer).and_then(Value::as_object).into_iter().flatten()
}

fn group(document: &Value, tag: &Value) -> Group {
    let name = text_at(tag, "/name");
    let all = fields(document, "/paths")
        .flat_map(|(path, item)| fields(item, "").map(move |(method, operation)| (path, method, operation)));
    let tagged = all.filter(|(_, _, operation)| each(operation, "/tags").any(|tag| *tag == name));
    Group {
        anchor: name.to_lowercase().replace(' ', "-"),
        description: text_at(tag, "/description"),
        operations: tagged.map(|(path, method, operation)| described(path, method, operation)).collect(),
        name,
    }
}

fn described(path: &str, method: &str, operation: &Value) -> Operation {
    let body = operation.pointer("/requestBody/content/application~1json");
    Operation {
        method: method.to_uppercase(),
        path: path.to_owned(),
        summary: text_at(operation, "/summary"),
        description: text_at(operation, "/description"),
        access: access(operation),
        parameters: each(operation, "/parameters").map(parameter).collect(),
        body: body.map(|body| Body { shape: shape_name(&body["schema"]), example: pretty(&body["example"]) }),
        answers: fields(operation, "/responses")
            .map(|(status, answer)| described_answer(status, answer))
            .collect(),
        id: text_at(operation, "/operationId"),
    }
}

fn access(operation: &Value) -> String {
    let ways: Vec<_> =
        each(operation, "/security").flat_map(|way| fields(way, "")).map(|(name, _)| name).collect();
    match ways.iter().map(|way| way.as_str()).collect::<Vec<_>>()[..] {
        [] => "Open to everyone.".into(),
        ["key"] => "Needs an API key.".into(),
        _ => "With an API key, or as a browser with its session.".into(),
    }
}

fn parameter(parameter: &Value) -> Parameter {
    Parameter {
        name: text_at(parameter, "/name"),
        place: text_at(parameter, "/in"),
        required: parameter["required"] == true,
        description: text_at(parameter, "/description"),
    }
}

fn described_answer(status: &str, answer: &Value) -> Answer {
    let shape = fields(answer, "/content").next().map(|(_, content)| shape_name(&content["schema"]));
    Answer {
        status: status.to_owned(),
        description: text_at(answer, "/description"),
        shape: shape.unwrap_or_default(),
    }
}

/// The name of a schema that is referred to; nothing for one that stands in place.
fn shape_name(schema: &Value) -> String {
    text_at(schema, "/$ref").rsplit('/').next().unwrap_or_default().to_owned()
}

fn shape(name: &str, schema: &Value) -> Shape {
    Shape { name: name.to_owned(), description: text_at(schema, "/description"), json: pretty(schema) }
}

fn pretty(json: &Value) -> String {
    serde_json::to_string_pretty(json).unwrap_or_default()
}
