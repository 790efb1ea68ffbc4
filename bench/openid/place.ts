import { createTokenKey, signToken } from '@gatehouse/auth'
import { connectDatabase } from '@gatehouse/database'
import { systemClock, systemTimer } from '@gatehouse/runtime'
import { startSweep } from '@gatehouse/openid/sweep'
import { createLog } from '@gatehouse/service-kit'
import pg from 'pg'
import { databaseUrlOf, registerAccount, startEmbeddedInstance, type EmbeddedInstance } from '../embedded-instance.ts'
import { timeOf } from '../rounds.ts'
import { applicationsOfAccount, idsOf, insertExpired, insertGrants } from './rows.ts'

const secrets = { JWT_SECRET: 'j'.repeat(32), INTERNAL_SECRET: 'i'.repeat(32) }
const people = 200
const expiredRows = 1_000

/** A person with a grant of the application, and a client address that nobody else has. */
export type Person = { address: string; session: string; accessToken: string; refreshToken: string }

export type Place = AsyncDisposable & {
  instance: EmbeddedInstance
  people: Person[]
  /** Of the application, as HTTP carries it. */
  authorization: string
  /** Milliseconds of a sweep that finds a thousand expired rows. */
  sweep: () => Promise<number>
}

/** An embedded instance with so many grants, made by SQL, and an application that asks about them. */
export async function openPlace(folder: string, grants: number): Promise<Place> {
  await using opening = new AsyncDisposableStack()
  const environment = { ...secrets, LOG_LEVEL: 'info', TRUST_PROXY: 'loopback' }
  const instance = opening.use(await startEmbeddedInstance(folder, environment))
  const admin = await registerAccount(instance.url, 'bench_admin')
  const applications = await createApplications(instance.url, admin.token)
  const url = await databaseUrlOf(folder)
  const client = opening.adopt(new pg.Client(url), (open) => open.end())
  await client.connect()
  await insertGrants(
    client,
    grants,
    applications.map(({ id }) => id),
  )
  const orm = opening.adopt(await connectDatabase({ url }), (open) => open.close())
  const log = createLog({ level: 'warn', service: 'bench' })
  const sweep = opening.use(startSweep({ orm, clock: systemClock, log, timer: systemTimer }))
  const [{ id, secret }] = applications as [Application]
  const open = opening.move()
  return {
    instance,
    people: peopleOf(grants),
    authorization: `Basic ${Buffer.from(`${id}:${encodeURIComponent(secret)}`).toString('base64')}`,
    sweep: async () => {
      await insertExpired(client, expiredRows)
      return await timeOf(() => sweep.runNow())
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}

type Application = { id: string; secret: string }

async function createApplications(url: string, token: string): Promise<Application[]> {
  const send = async (path: string, { method = 'POST', body }: { method?: string; body: object }): Promise<unknown> => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const answer = await fetch(url + path, { method, headers, body: JSON.stringify(body) })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}: ${text}`)
    return JSON.parse(text)
  }
  await send('/api/settings/instance', { method: 'PATCH', body: { openidEnabled: true } })
  const applications: Application[] = []
  for (let index = 0; index < applicationsOfAccount; index += 1) {
    const redirectUris = ['https://wiki.example/callback']
    const body = { name: `Wiki ${index}`, type: 'confidential', redirectUris }
    const created = await send('/api/admin/applications', { body })
    const { application, clientSecret } = created as { application: { id: string }; clientSecret: string }
    applications.push({ id: application.id, secret: clientSecret })
  }
  return applications
}

/** Spread evenly over the rows. */
function peopleOf(grants: number): Person[] {
  const key = createTokenKey(secrets.JWT_SECRET)
  const accounts = grants / applicationsOfAccount
  return Array.from({ length: people }, (_, place) => {
    const account = 1 + Math.floor((place * accounts) / people)
    const claims = { userId: String(account), username: `person_${account}` }
    const session = signToken(key, claims, { expiresIn: '1h', now: Date.now() })
    return { address: `10.2.0.${place + 1}`, session, ...idsOf((account - 1) * applicationsOfAccount + 1) }
  })
}
