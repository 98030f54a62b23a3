// Light or dark as the menu of the dashboard has it (workshop/web/pages/look.js), else as the system.
const look = localStorage.getItem("workshop-look");
if (look === "Light" || look === "Dark") document.documentElement.style.colorScheme = look.toLowerCase();
