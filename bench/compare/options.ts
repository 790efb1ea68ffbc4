import { parseArgs } from 'node:util'
import { readCount } from '../arguments.ts'

export type CompareOptions = {
  /** Origins, in the order of the table's columns. */
  origins: string[]
  /** An account that is there at all of them; without one each gets an account of its own, which is deleted at the end. */
  account: { username: string; password: string } | null
  /** Whether each request names another client address, for an instance that trusts this machine as a proxy. */
  isForwarded: boolean
  isMarkdown: boolean
  rounds: number
}

export const usage = `npm run bench -- compare <url> [<url> …] [options]
  --username <name>   an account that is there; its password is read from BENCH_PASSWORD. Without it an account is
                      registered at each instance and deleted at the end
  --forwarded         another X-Forwarded-For with each request: for an instance that trusts this machine as its proxy
  --remote            hosts other than this machine are meant
  --rounds <n>        by default 3, at most 5
  --markdown          the table as Markdown`

const mostOrigins = 4

/** Reads the arguments after `compare`. Throws with a sentence that a person can act on. */
export function readCompareOptions(
  args: string[],
  environment: Readonly<Record<string, string | undefined>>,
): CompareOptions {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      username: { type: 'string' },
      forwarded: { type: 'boolean', default: false },
      remote: { type: 'boolean', default: false },
      rounds: { type: 'string', default: '3' },
      markdown: { type: 'boolean', default: false },
    },
  })
  if (positionals.length === 0) throw new Error(`which instance?\n${usage}`)
  if (positionals.length > mostOrigins) throw new Error(`at most ${mostOrigins} instances at a time`)
  return {
    origins: positionals.map((text) => readOrigin(text, values.remote)),
    account: readAccount(values.username, environment.BENCH_PASSWORD),
    isForwarded: values.forwarded,
    isMarkdown: values.markdown,
    rounds: readCount('--rounds', values.rounds, 5),
  }
}

/** Load on another host has to be asked for. */
function readOrigin(text: string, isRemoteMeant: boolean): string {
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol)) throw new Error(`${text} is no http or https URL`)
  if (url.pathname !== '/' || url.search || url.username) throw new Error(`${text}: only the origin, ${url.origin}`)
  if (!isRemoteMeant && !isLoopback(url.hostname)) {
    throw new Error(`${url.origin} is another host: add --remote if you may put load on it`)
  }
  return url.origin
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname)
}

function readAccount(username: string | undefined, password: string | undefined): CompareOptions['account'] {
  if (username === undefined) return null
  if (!password) throw new Error('--username needs the password in BENCH_PASSWORD')
  return { username, password }
}
