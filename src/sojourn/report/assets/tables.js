// Tables are sorted by a click on a column's name, and long ones can be searched.

function sortTable(table, column, header) {
  const rising = header.getAttribute("aria-sort") !== "ascending";
  for (const other of table.querySelectorAll("th")) other.setAttribute("aria-sort", "none");
  header.setAttribute("aria-sort", rising ? "ascending" : "descending");
  const numeric = header.classList.contains("number");
  const keyOf = (row) => {
    const cell = row.cells[column];
    if (!numeric) return cell.textContent.trim();
    return cell.dataset.value === undefined ? null : Number(cell.dataset.value);
  };
  const compare = (a, b) => {
    // Rows without a value stay last in either order.
    if (a.key === null || b.key === null) return (a.key === null) - (b.key === null);
    const order = numeric ? a.key - b.key : a.key.localeCompare(b.key, "en", { numeric: true });
    return rising ? order : -order;
  };
  const body = table.tBodies[0];
  const rows = [...body.rows].map((row) => ({ row, key: keyOf(row) })).sort(compare);
  body.append(...rows.map((one) => one.row));
}

function addSearch(holder, table) {
  const bar = make("div", { class: "search" });
  const input = make("input", { type: "search", placeholder: "Find rows", "aria-label": `Find rows in: ${holder.querySelector(".caption").textContent}` }, bar);
  const rows = [...table.tBodies[0].rows];
  const told = make("span", { class: "hint", "aria-live": "polite" }, bar);
  const tell = () => {
    const left = rows.filter((row) => !row.hidden).length;
    told.textContent = left === rows.length ? `${rows.length} rows` : `${left} of ${rows.length} rows`;
  };
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
    }
    tell();
  });
  tell();
  holder.querySelector(".scroll").before(bar);
}

function enliven(holder) {
  const table = holder.querySelector("table");
  table.querySelectorAll("th").forEach((header, column) => {
    const button = make("button", { type: "button" }, null, header.textContent);
    header.replaceChildren(button);
    header.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => sortTable(table, column, header));
  });
  if ("search" in holder.dataset) addSearch(holder, table);
}

function addTheme() {
  const root = document.documentElement, button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const tell = () => { button.textContent = dark() ? "Light" : "Dark"; button.setAttribute("aria-label", `Use ${dark() ? "light" : "dark"} colours`); };
  button.hidden = false;
  button.addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; tell(); });
  system.addEventListener("change", tell);
  tell();
}
