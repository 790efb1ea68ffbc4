import { z } from 'zod'
import * as limits from './constants/limits.ts'
import { namedObject, text } from './text.ts'

// Only the form of an address is checked. The mailed link shows whether it exists. Contract: 3, Mail.

export const mailLanguages = ['en', 'de'] as const
export type MailLanguage = (typeof mailLanguages)[number]

const atom = "[\\p{L}\\p{N}\\p{M}!#$%&'*+/=?^_`{|}~-]+"
const label = '[\\p{L}\\p{N}](?:[\\p{L}\\p{N}\\p{M}-]{0,61}[\\p{L}\\p{N}\\p{M}])?'
/** No quoted local part, no IP address, and nothing that has a meaning in a header. RFC 5322, 6531. */
const addressPattern = new RegExp(`^(?=.{1,64}@)${atom}(?:\\.${atom})*@(?:${label}\\.)+(?!\\d+$)${label}$`, 'u')
const bytes = new TextEncoder()

export const isEmailAddress = (address: string): boolean =>
  addressPattern.test(address) && bytes.encode(address).length <= limits.emailMaxBytes

/** The domain in lower case. */
export function normalizeEmail(input: string): string {
  const address = input.trim().normalize('NFC')
  const at = address.lastIndexOf('@')
  return address.slice(0, at) + address.slice(at).toLowerCase()
}

/** Equal for the spellings of one mailbox: no server in use tells them apart by their case. */
export const emailKeyOf = (address: string): string => normalizeEmail(address).toLowerCase()

export const emailAddress = text('email')
  .overwrite(normalizeEmail)
  .refine(isEmailAddress, { error: 'email must be an address such as alice@mail.example' })
  .meta({ maxLength: limits.emailMaxBytes, format: 'email' })

export const emailReply = namedObject('Email', {
  address: z.string(),
  confirmed: z.boolean(),
  /** The last mail was rejected for good. */
  bounced: z.literal(true).optional(),
})
export type EmailReply = z.infer<typeof emailReply>
