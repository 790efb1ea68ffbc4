const codes: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG', '53100'])

/** The disk, a quota or a limit for files, here or at PostgreSQL. */
export function isDiskFull(error: unknown): boolean {
  const { code, message } = error as { code?: string; message: string }
  // An error of another process comes as its message.
  return codes.has(code ?? /^[A-Z]+(?=: )/.exec(message)?.[0] ?? '')
}
