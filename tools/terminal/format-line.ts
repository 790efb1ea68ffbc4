type Line = { level?: string; msg?: string; time?: string; service?: string }

const levelColours: Record<string, number> = { warn: 33, error: 31, fatal: 31 }

/** A structured line as a person reads it: `12:00:01 warn redis reason=…`; any other line as it is. */
export function formatLine(line: string): string {
  let parsed: Line
  try {
    parsed = JSON.parse(line) as Line
  } catch {
    return line
  }
  const { level = 'info', msg = '', time = '', service: _service, ...facts } = parsed
  const details = Object.entries(facts).map(([name, value]) => `${name}=${plain(value)}`)
  const shownLevel = level === 'info' ? [] : [paint(levelColours[level] ?? 90, level)]
  return [paint(90, time.slice(11, 19)), ...shownLevel, msg, paint(90, details.join(' '))].join(' ').trimEnd()
}

function plain(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Coloured where the terminal shows colours; a number of the ANSI table. */
export function paint(colour: number, text: string): string {
  return process.stdout.isTTY ? `\u001b[${colour}m${text}\u001b[0m` : text
}
