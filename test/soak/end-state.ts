import { eventually } from '@gatehouse/test-kit'
import type { Ledger } from './ledger.ts'
import type { Mailbox } from './mails.ts'
import { visitorFrom, type Scene } from './visitor.ts'

const arrivalLimitMs = 120_000
const toldMax = 20

/** Compares what was acknowledged with what is there: nothing is lost, nothing revoked works. Everybody has stopped. */
export async function checkEnd(scene: Scene, mailbox: Mailbox): Promise<void> {
  const { ledger } = scene
  for (const member of ledger.members.values()) await checkMember(scene, member)
  await checkRevoked(scene)
  await checkDeparted(scene)
  const isTold = () => {
    mailbox.empty()
    return ledger.expectations().length === 0
  }
  await eventually('everything is told', isTold, arrivalLimitMs).catch(() => undefined)
  const expectations = ledger.expectations()
  for (const what of expectations.slice(0, toldMax)) ledger.violation(`never told: ${what}`)
  if (expectations.length > toldMax) ledger.violation(`never told: ${expectations.length - toldMax} more`)
}

type Member = Ledger['members'] extends Map<string, infer M> ? M : never

async function checkMember(scene: Scene, { username, token, displayName, password, network }: Member): Promise<void> {
  const { ledger } = scene
  const visitor = visitorFrom(scene, network)
  for (const at of visitor.gateways) {
    const { body, status } = await visitor.call('GET /api/users/@me', { token, at })
    const isKept = displayName === '' || body.displayName === displayName
    if (status !== 200 || !isKept)
      ledger.violation(`${username} is lost: ${status} "${String(body.displayName)}", not "${displayName}"`)
  }
  ledger.count('accounts read at the end')
  if (password === undefined) return
  const { status } = await visitor.call('POST /api/auth/login', { body: { username, password } })
  if (status !== 200) ledger.violation(`the last password of ${username} is answered with ${status}`)
}

async function checkRevoked(scene: Scene): Promise<void> {
  const { ledger, random } = scene
  for (const { token, why } of ledger.revoked) {
    const visitor = visitorFrom(scene, `198.19.${random.below(256)}.${1 + random.below(250)}`)
    for (const at of visitor.gateways) {
      const { status } = await visitor.call('GET /api/users/@me', { token, at })
      if (status !== 401) ledger.violation(`a token that ${why} revoked is answered with ${status} at the end`)
    }
    ledger.count('revoked tokens presented at the end')
  }
}

/** Of many the latest: each login is hashed. */
async function checkDeparted(scene: Scene): Promise<void> {
  const { ledger } = scene
  for (const { username, password, network } of ledger.departed.slice(-200)) {
    if (password === undefined) continue
    const visitor = visitorFrom(scene, network)
    const { status } = await visitor.call('POST /api/auth/login', { body: { username, password } })
    if (status !== 401) ledger.violation(`${username}, who left, can log in: ${status}`)
    ledger.count('logins of people who left, refused')
  }
}
