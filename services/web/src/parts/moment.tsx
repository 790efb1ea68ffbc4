import { sayDate, sayMoment } from './say-moment.ts'

/** A time as said by a person; the tooltip has it in full. */
export function Moment({ at }: { at: number }) {
  return (
    <time dateTime={new Date(at).toISOString()} title={sayDate(at)}>
      {sayMoment(at, Date.now())}
    </time>
  )
}
