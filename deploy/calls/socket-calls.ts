import { request } from 'node:http'
import { relative, join } from 'node:path'
import { json } from 'node:stream/consumers'
import { z } from 'zod'
import { InstanceUnreachable, type CallAnswer, type Calls } from './operator-calls.ts'

/** In bytes, on every system. */
export const maxSocketPath = 103

/** The shorter of the absolute and the relative path. */
export function socketPathOf(dataFolder: string): string {
  const path = join(dataFolder, 'operator.sock')
  const fromHere = relative(process.cwd(), path)
  return fromHere.length < path.length ? fromHere : path
}

/** Throws InstanceUnreachable. */
export function createSocketCalls(dataFolder: string): Calls {
  return {
    send: async (call) => {
      try {
        return (await exchange(dataFolder, '/call', call)) as CallAnswer
      } catch (cause) {
        throw new InstanceUnreachable(explain(cause, dataFolder), { cause })
      }
    },
  }
}

const runningInstance = z.object({
  databaseUrl: z.string(),
  uploadDir: z.string(),
  secrets: z.object({ jwtSecret: z.string(), internalSecret: z.string() }),
})
export type RunningInstance = z.infer<typeof runningInstance>

/** Null when no instance runs on the folder. Throws InstanceUnreachable. */
export async function findRunningInstance(dataFolder: string): Promise<RunningInstance | null> {
  try {
    return runningInstance.parse((await exchange(dataFolder, '/instance', {})).body)
  } catch (cause) {
    if (isAbsent(cause)) return null
    throw new InstanceUnreachable(explain(cause, dataFolder), { cause })
  }
}

async function exchange(dataFolder: string, path: string, body: object): Promise<{ status: number; body: unknown }> {
  const sent = request({
    socketPath: socketPathOf(dataFolder),
    path,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
  })
  const answered = new Promise<{ status: number; body: unknown }>((resolve, reject) => {
    sent.once('error', reject)
    sent.once('response', (response) => {
      json(response).then((answer) => resolve({ status: response.statusCode ?? 0, body: answer }), reject)
    })
  })
  sent.end(JSON.stringify(body))
  return await answered
}

/** A killed instance leaves its socket behind. */
function isAbsent(cause: unknown): boolean {
  const { code } = cause as NodeJS.ErrnoException
  return code === 'ENOENT' || code === 'ECONNREFUSED'
}

function explain(cause: unknown, dataFolder: string): string {
  const { code, message } = cause as NodeJS.ErrnoException
  if (code === 'EACCES')
    return `no permission to use the socket in ${dataFolder}: run the command as the instance's user`
  if (isAbsent(cause)) {
    return `no instance runs on the data folder ${dataFolder}: start it, or set GATEHOUSE_DATA`
  }
  return `the instance in ${dataFolder} did not answer: ${message}`
}
