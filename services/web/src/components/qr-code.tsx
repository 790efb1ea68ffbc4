import { generate } from 'lean-qr/nano'

const quietModules = 4

/** Dark on light in every theme: cameras want it so. */
export function QrCode({ text, label }: { text: string; label: string }) {
  const code = generate(text)
  const side = code.size + 2 * quietModules
  const rows = Array.from({ length: code.size }, (_, y) =>
    Array.from({ length: code.size }, (__, x) =>
      code.get(x, y) ? `M${x + quietModules} ${y + quietModules}h1v1h-1z` : '',
    ).join(''),
  )
  return (
    <svg className="qr-code" viewBox={`0 0 ${side} ${side}`} role="img" aria-label={label}>
      <path d={rows.join('')} />
    </svg>
  )
}
