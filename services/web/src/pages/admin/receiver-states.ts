import type { ReceiverState } from '@gatehouse/client'
import type { BadgeTone } from '../../components/status.tsx'
import type { Text } from '../../language/language.ts'

export const channels = {
  backchannel: 'Logout notices',
  signals: 'Signals',
} as const satisfies Record<string, Text>
export type Channel = keyof typeof channels

/** How telling an application goes. Contract: 3, Applications. */
export function describeReceiver({ waiting, lastDeliveredAt, failingSince }: ReceiverState): {
  tone: BadgeTone
  label: Text
} {
  if (failingSince !== null) return { tone: 'bad', label: 'failing' }
  if (waiting > 0) return { tone: 'warning', label: 'sending' }
  return lastDeliveredAt === null ? { tone: 'neutral', label: 'nothing sent yet' } : { tone: 'good', label: 'working' }
}
