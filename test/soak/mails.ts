import { eventually, type ReceivedMail } from '@gatehouse/test-kit'
import type { Ledger } from './ledger.ts'
import type { System } from './system.ts'

const kinds: readonly [subject: RegExp, kind: string][] = [
  [/Confirm your email address/, 'mail: confirmation'],
  [/password was changed/, 'mail: password changed'],
  [/account was deleted/, 'mail: deleted'],
]
const arrivalLimitMs = 120_000
/** Of links whose person left before reading. */
const linksMax = 1_000

export type Mailbox = ReturnType<typeof createMailbox>

/** Tells the ledger of each mail that has arrived, and keeps the links. */
export function createMailbox({ mail }: Pick<System, 'mail'>, ledger: Ledger) {
  const links = new Map<string, string>()
  const read = ({ to, subject, text }: ReceivedMail): void => {
    const kind = kinds.find(([pattern]) => pattern.test(subject))?.[1]
    if (kind === undefined) return ledger.violation(`a mail that nobody expects: ${subject}`)
    ledger.arrive(kind, to)
    const [, token] = /#token=(\S+)/.exec(text) ?? []
    if (token !== undefined) links.set(to, token)
    const [oldest] = links.keys()
    if (links.size > linksMax && oldest !== undefined) links.delete(oldest)
  }
  const empty = (): void => mail.mails.splice(0).forEach(read)
  return {
    empty,
    /** The token of the link that was sent there. */
    async linkTo(address: string): Promise<string> {
      const look = () => {
        empty()
        return links.get(address)
      }
      const token = await eventually(`a mail to ${address}`, look, arrivalLimitMs)
      links.delete(address)
      return token
    },
  }
}
