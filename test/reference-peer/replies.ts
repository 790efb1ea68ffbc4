import type { IncomingHttpHeaders } from 'node:http'
import type { Instance } from './instance.ts'
import { signatureOf } from './signature.ts'

export type ReceivedRequest = {
  method: string
  path: string
  headers: IncomingHttpHeaders
  /** The parsed body; undefined when there was none. */
  body: unknown
  ip: string
}

export type Reply = { status: number; text: string; headers: Record<string, string> }

export const jsonType = 'application/json; charset=utf-8'

export function reply(status: number, body: unknown, headers: Record<string, string> = {}): Reply {
  return { status, text: JSON.stringify(body), headers: { 'content-type': jsonType, ...headers } }
}

/** Only epoch and verify-attach-proof answer so, and without an origin header. wire: 1 */
export function signedReply(instance: Instance, secret: string, body: unknown): Reply {
  const text = JSON.stringify(body)
  const [timestamp, nonce] = [String(instance.now()), instance.newNonce()]
  return {
    status: 200,
    text,
    headers: {
      'content-type': jsonType,
      'x-federation-signature': signatureOf(secret, { timestamp, nonce, body: text }),
      'x-federation-timestamp': timestamp,
      'x-federation-nonce': nonce,
    },
  }
}

/** An answer that ends the request where it is thrown. */
export class Refused extends Error {
  readonly reply: Reply
  constructor(answer: Reply) {
    super(answer.text)
    this.reply = answer
  }
}

export function refused(status: number, error: string, code?: string): Refused {
  return new Refused(reply(status, { error, statusCode: status, ...(code === undefined ? {} : { code }) }))
}

const reasonPhrases: Record<number, string> = {
  400: 'Bad Request',
  413: 'Payload Too Large',
  415: 'Unsupported Media Type',
}

/** A fault that the framework finds before any of the checks. wire: 1, errors */
export function frameworkFault(statusCode: number, code: string, message: string): Refused {
  return new Refused(reply(statusCode, { statusCode, code, error: reasonPhrases[statusCode], message }))
}
