// The page begins: without this script it is still a page of words and tables.

addTheme();
document.querySelectorAll(".table").forEach(enliven);
drawCharts();
