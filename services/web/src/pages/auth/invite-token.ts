/** The token in an invite link; anything else is taken for the token itself. */
export function tokenIn(typed: string): string {
  const text = typed.trim()
  return URL.parse(text)?.searchParams.get('invite') ?? text
}
