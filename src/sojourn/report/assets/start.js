// Start the page; without this script it still shows its words and tables.

addTheme();
document.querySelectorAll(".table").forEach(enliven);
drawCharts();
