/* numbers.js - figures as people read them. */
/* "1,250", "12.4", "0.183" */
export function figure(value) {
  if (value === null || value === undefined || !isFinite(value)) return 'n/a';
  const size = Math.abs(value);
  if (size >= 1e15) return value.toExponential(2);
  const digits = size >= 100 || value === Math.round(value) ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/* A number on an axis: as short as it can be. */
export function brief(value) {
  return value >= 1000 ? figure(value) : String(+value.toPrecision(6));
}
