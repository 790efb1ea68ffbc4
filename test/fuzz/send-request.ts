import { request as httpRequest } from 'node:http'
import type { Agent, IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import type { RequestCase } from './requests.ts'

/** What came back. A raw request may get several responses, or none when its bytes are no request. */
export type Answer = { statuses: number[]; headers: IncomingMessage['headers']; body: string }

const answerLimitMs = 60_000
/** The rest of an unfinished request never comes: its connection is half closed. */
const rawLimitMs = 1_000

/** Sends one case; rejects when a framed one gets no response in time. */
export async function sendRequest(origin: string, request: RequestCase, agent: Agent): Promise<Answer> {
  return request.bytes ? await sendRaw(origin, request.bytes) : await sendFramed(origin, request, agent)
}

async function sendFramed(origin: string, { method, path, headers, body }: RequestCase, agent: Agent): Promise<Answer> {
  const { hostname: host, port } = new URL(origin)
  return await new Promise((resolve, reject) => {
    const sent = httpRequest({
      host,
      port,
      method,
      path,
      agent,
      headers: { ...headers, 'Content-Length': body.length },
    })
    const limit = setTimeout(() => sent.destroy(new Error(`no response within ${answerLimitMs} ms`)), answerLimitMs)
    sent.once('error', reject)
    sent.once('close', () => clearTimeout(limit))
    sent.once('response', (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      const { headers: received, statusCode = 0 } = response
      const answer = () => {
        resolve({ statuses: [statusCode], headers: received, body: Buffer.concat(chunks).toString('utf8') })
      }
      // Another request may revoke the token of an export that is under way, which ends it. Contract: 3, export.
      const isArchive = statusCode === 200 && received['content-type'] === 'application/zip'
      response.once('error', isArchive ? answer : reject)
      response.once('end', answer)
    })
    sent.end(body)
  })
}

async function sendRaw(origin: string, bytes: Buffer): Promise<Answer> {
  const { hostname: host, port } = new URL(origin)
  const chunks: Buffer[] = []
  await new Promise<void>((resolve) => {
    const socket = connect({ host, port: Number(port) })
    socket.setTimeout(rawLimitMs, () => socket.destroy())
    socket.on('data', (chunk) => chunks.push(chunk))
    socket.on('error', () => undefined) // a reset is an answer to such bytes
    socket.once('close', () => resolve())
    socket.end(bytes)
  })
  const text = Buffer.concat(chunks).toString('latin1')
  const statuses = [...text.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map(([, status]) => Number(status))
  const retryAfter = /^retry-after: (.*)$/im.exec(text)?.[1]
  return {
    statuses,
    headers: retryAfter ? { 'retry-after': retryAfter } : {},
    body: text.split('\r\n\r\n', 2)[1] ?? '',
  }
}
