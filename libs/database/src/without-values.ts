/** Names in quotes and `$1` are kept. Texts and numbers are values. */
const tokens =
  /("[^"]*"|\$\d+)|\b[eE]'(?:[^'\\]|\\[\s\S]|'')*'|'(?:[^']|'')*'|\$([A-Za-z_]\w*|)\$[\s\S]*?\$\2\$|\b\d+(?:\.\d+)?\b/g

/** The text of a statement for a trace. The ORM writes values into the text, hashes and tokens among them. */
export function withoutValues(sql: string): string {
  return sql.replace(tokens, (_value, token: string | undefined) => token ?? '?')
}
