import { formatNumber } from './format-time.ts'

/** A size in bytes as "12 kB" or "3.4 MB". */
export function formatBytes(bytes: number): string {
  return bytes < 1e6
    ? `${formatNumber(Math.round(bytes / 1e3))} kB`
    : `${formatNumber(Math.round(bytes / 1e5) / 10)} MB`
}
