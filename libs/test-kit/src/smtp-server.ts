import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { SMTPServer } from 'smtp-server'

type Options = {
  /** With it STARTTLS is offered. */
  certificate?: { cert: string; key: string }
  /** From the first byte. */
  secure?: boolean
  login?: { user: string; pass: string }
}

export type ReceivedMail = {
  from: string
  to: string
  raw: string
  headers: string
  /** Unfolded and as they are written, by their names in lower case. */
  header(name: string): string[]
  subject: string
  text: string
  html: string
  secure: boolean
}

export type TestSmtpServer = Awaited<ReturnType<typeof startSmtpServer>>

/** Refuses a recipient or a message with the code and text that `refuse` gives. `hang`: never answers the message. */
type Behaviour = {
  refuse: (to: string, phase: 'recipient' | 'message') => [code: number, text: string] | undefined
  hang: boolean
}

/** A mail server that keeps what it gets. */
export async function startSmtpServer({ certificate, secure = false, login }: Options = {}) {
  const mails: ReceivedMail[] = []
  const behaviour: Behaviour = { refuse: () => undefined, hang: false }
  const asError = (refused: [number, string] | undefined) =>
    refused ? Object.assign(new Error(refused[1]), { responseCode: refused[0] }) : null
  const create = () => {
    const server = new SMTPServer({
      secure,
      ...certificate,
      authOptional: !login,
      disableReverseLookup: true,
      closeTimeout: 10,
      maxClients: 1_000,
      ...(!certificate && { hideSTARTTLS: true }),
      ...(!login && { disabledCommands: certificate ? ['AUTH'] : ['AUTH', 'STARTTLS'] }),
      onAuth: ({ username, password }, _session, done) => {
        const fits = username === login?.user && password === login?.pass
        done(fits ? null : asError([535, '5.7.8 no']), { user: username })
      },
      onRcptTo: ({ address }, _session, done) => done(asError(behaviour.refuse(address, 'recipient'))),
      onData: (stream, session, done) => {
        void text(stream).then((raw) => {
          const { mailFrom, rcptTo } = session.envelope
          const to = rcptTo[0]?.address ?? ''
          if (behaviour.hang) return
          const refused = behaviour.refuse(to, 'message')
          if (!refused)
            mails.push(readMail(raw, { from: (mailFrom && mailFrom.address) || '', to, secure: session.secure }))
          done(asError(refused))
        })
      },
    })
    server.on('error', () => undefined)
    return server
  }
  let server = create()
  const listen = async (port: number) => {
    const listening = server.listen(port, '127.0.0.1')
    await once(listening, 'listening')
    return (listening.address() as AddressInfo).port
  }
  const port = await listen(0)
  const stop = async () => await new Promise<void>((resolve) => server.close(resolve))
  return {
    port,
    mails,
    behaviour,
    stop,
    async restart(): Promise<void> {
      server = create()
      await listen(port)
    },
    [Symbol.asyncDispose]: stop,
  }
}

type Envelope = Pick<ReceivedMail, 'from' | 'to' | 'secure'>

function readMail(raw: string, envelope: Envelope): ReceivedMail {
  const [headers = ''] = raw.split('\r\n\r\n')
  const lines = headers.replace(/\r\n[ \t]+/g, ' ').split('\r\n')
  const header = (name: string) =>
    lines.filter((line) => line.toLowerCase().startsWith(`${name}:`)).map((line) => line.slice(name.length + 1).trim())
  const subject = decodeWords(header('subject')[0] ?? '')
  return { ...envelope, raw, headers, header, subject, text: partOf(raw, 'text/plain'), html: partOf(raw, 'text/html') }
}

const decodeQuoted = (text: string) => {
  const byte = (_: string, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))
  return Buffer.from(text.replace(/=([0-9A-F]{2})/g, byte), 'latin1').toString()
}

/** RFC 2047. A character is never cut between two words. */
function decodeWords(text: string): string {
  return text.replace(/\?= +=\?/g, '?==?').replace(/=\?UTF-8\?([QB])\?([^?]*)\?=/g, (_, kind: string, word: string) => {
    return kind === 'B' ? Buffer.from(word, 'base64').toString() : decodeQuoted(word.replaceAll('_', ' '))
  })
}

/** Decoded, with the line breaks of Unix. */
function partOf(raw: string, type: string): string {
  const [, head = '', body = ''] =
    new RegExp(`(Content-Type: ${type}[^]*?)\\r\\n\\r\\n([^]*?)(?=\\r\\n--|$(?![^]))`).exec(raw) ?? []
  const decode = () => {
    if (/base64/i.test(head)) return Buffer.from(body, 'base64').toString()
    if (!/quoted-printable/i.test(head)) return body
    return decodeQuoted(body.replace(/=\r\n/g, ''))
  }
  return decode().replace(/\r\n/g, '\n')
}
