// A placement to be composed: one field for each thing that may be chosen.

import { element } from "./dom.js";

export function placing(shown, changed) {
  const readers = {};
  const writers = {};
  const rows = shown.fields.map((field) => {
    const [input, read, write] = FIELDS[field.kind](field);
    input.addEventListener(field.kind === "int" ? "input" : "change", changed);
    readers[field.name] = read;
    writers[field.name] = write;
    write(field.value);
    const row = element("label", `field field-${field.kind}`, element("span", "label", field.label), input);
    if (field.help) {
      const help = element("span", "help", field.help);
      help.id = `help-${shown.id}-${field.name}`;
      input.setAttribute("aria-describedby", help.id);
      row.append(help);
    }
    return row;
  });
  return {
    nodes: [element("div", "fields", rows)],
    missing: "",
    read: () => Object.fromEntries(Object.entries(readers).map(([name, read]) => [name, read()])),
    write: (raw) => { for (const [name, write] of Object.entries(writers)) if (name in raw) write(raw[name]); },
  };
}

// Each kind of field: its input, how to read it, how to write it.
const FIELDS = {
  int: ({ least, most }) => {
    const input = element("input", "typed");
    input.type = "text";
    input.inputMode = "numeric";
    input.autocomplete = "off";
    input.maxLength = 12;
    if (least !== undefined && most !== undefined && most !== null) input.placeholder = `${least} to ${most}`;
    // What isn't a whole number goes to the server as it was typed, which says what would be right.
    const read = () => {
      const words = input.value.trim();
      return words === "" ? null : /^\d+$/.test(words) ? Number(words) : words;
    };
    return [input, read, (value) => { input.value = value ?? ""; }];
  },
  choice: ({ choices }) => {
    const input = element("select");
    for (const choice of choices) input.append(new Option(choice, choice));
    return [input, () => input.value, (value) => { if (value !== null && value !== undefined) input.value = value; }];
  },
  yesno: () => {
    const input = element("input", "switch");
    input.type = "checkbox";
    return [input, () => input.checked, (value) => { input.checked = value === true; }];
  },
};
