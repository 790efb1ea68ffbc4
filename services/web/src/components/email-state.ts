import type { OwnEmail } from '@gatehouse/client'
import type { Text } from '../language/language.ts'
import type { BadgeTone } from './status.tsx'

/** A rejected mail outweighs an earlier confirmation. Contract: 3, Mail. */
export function emailStateOf({ confirmed, bounced }: OwnEmail): { tone: BadgeTone; label: Text } {
  if (bounced) return { tone: 'bad', label: 'mail rejected' }
  return confirmed ? { tone: 'good', label: 'confirmed' } : { tone: 'warning', label: 'not confirmed' }
}

export function describeEmail(email: OwnEmail): Text {
  if (email.bounced) return 'Mail to this address comes back. Check it for typos, or enter another one.'
  if (email.confirmed) return 'Used for password reset links and notices about your account.'
  return 'To confirm that this address is yours, open the link in the mail from this instance. It works for 24 hours.'
}
