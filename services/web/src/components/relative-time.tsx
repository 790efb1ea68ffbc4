import { useAppContext } from '../context.ts'
import { formatDateTime, formatRelativeTime } from './format-time.ts'

/** A time as "5 minutes ago", with the full date and time as tooltip. */
export function RelativeTime({ at }: { at: number }) {
  const { now } = useAppContext()
  return (
    <time dateTime={new Date(at).toISOString()} title={formatDateTime(at)}>
      {formatRelativeTime(at, now())}
    </time>
  )
}
