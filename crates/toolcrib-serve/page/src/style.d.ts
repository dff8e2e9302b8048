// The bundler takes style sheets that are imported, and gives nothing back.
declare module "*.css";
