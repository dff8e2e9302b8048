document.title = "Toolcrib";
