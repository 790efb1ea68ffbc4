import type { Line } from './report.ts'

const rowHeight = 62
const left = 12
const barWidth = 320
const width = 640

/** Of the lines with a headline and a peer to be compared with: ours beside the other, each as a share of the larger. */
export function drawPicture(lines: readonly Line[]): string {
  const shown = lines.filter(
    ({ headline, ratio }) => headline !== undefined && ratio !== null && Number.isFinite(ratio),
  )
  const rows = shown.map((line, place) => drawRow(line, 34 + place * rowHeight))
  const height = 44 + shown.length * rowHeight
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="13" role="img" aria-label="Gatehouse compared with alternatives">
<rect width="${width}" height="${height}" fill="#fff"/>
<rect x="${left}" y="10" width="12" height="12" fill="#3b5bdb"/><text x="30" y="21" fill="#222">Gatehouse</text>
<rect x="120" y="10" width="12" height="12" fill="#adb5bd"/><text x="138" y="21" fill="#222">compared with</text>
${rows.join('\n')}
</svg>
`
}

function drawRow({ headline = '', measured, peer, ratio }: Line, top: number): string {
  const largest = Math.max(1, ratio!)
  const bar = (share: number) => Math.max(1, (barWidth * share) / largest).toFixed(0)
  return `<text x="${left}" y="${top + 14}" fill="#222" font-weight="bold">${escapeText(headline)}</text>
<rect x="${left}" y="${top + 20}" width="${bar(ratio!)}" height="14" fill="#3b5bdb"/><text x="${left + barWidth + 8}" y="${top + 32}" fill="#222">${escapeText(measured)}</text>
<rect x="${left}" y="${top + 37}" width="${bar(1)}" height="14" fill="#adb5bd"/><text x="${left + barWidth + 8}" y="${top + 49}" fill="#222">${escapeText(shorten(peer))}</text>`
}

/** The picture has room for a name and a number: the name's explanation after the comma goes. */
function shorten(peer: string): string {
  const value = /[\d.,]+ ?\S*$/.exec(peer)?.[0] ?? ''
  return `${peer
    .slice(0, peer.length - value.length)
    .split(',')[0]!
    .trim()} ${value}`
}

const escapeText = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
