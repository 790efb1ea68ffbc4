import { formatNumber } from '../../components/format.ts'

/** Of what the server counts up to `max`. */
export const upTo = (max: number) => (count: number) => formatNumber(count) + (count >= max ? '+' : '')
