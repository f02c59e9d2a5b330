/** Joins class names. Where two of one kind meet, the one that must win is marked with `!`. */

export { clsx as cn } from "clsx";
