// SPDX-License-Identifier: MIT
// Additions for the theme's style: classes of tables, and menus that open.

for (const table of document.querySelectorAll(".rst-content table")) {
    const frame = document.createElement("div");
    frame.className = "wy-table-responsive";
    table.classList.add("docutils");
    table.replaceWith(frame);
    frame.append(table);
}

for (const title of document.querySelectorAll(".wy-menu-vertical a[href='#']")) {
    title.addEventListener("click", (event) => {
        event.preventDefault();
        title.classList.toggle("current");
        title.parentElement.classList.toggle("current");
    });
}

document.querySelector(".wy-menu-vertical .current a.current")?.scrollIntoView({ block: "center" });

// On narrow screens the menu is beside the page.
document.querySelector("i[data-toggle='wy-nav-top']")?.addEventListener("click", () => {
    for (const part of document.querySelectorAll("[data-toggle='wy-nav-shift']")) {
        part.classList.toggle("shift");
    }
});
