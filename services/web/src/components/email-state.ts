import type { OwnEmail } from '@gatehouse/client'
import type { Text } from '../language/language.ts'
import type { BadgeTone } from './status.tsx'

/** Contract: 3, Mail. */
export function emailStateOf({ confirmed, bounced }: OwnEmail): { tone: BadgeTone; label: Text } {
  if (bounced) return { tone: 'bad', label: 'mail rejected' }
  return confirmed ? { tone: 'good', label: 'confirmed' } : { tone: 'warning', label: 'not confirmed' }
}
