import type { ProofChallenge } from '@gatehouse/contracts'
import { BlockedNetwork, InstanceSettings, UsedToken, type InstanceSettings as Settings } from '@gatehouse/domain'
import { solveChallenge } from 'altcha-lib'
import { deriveKey } from 'altcha-lib/algorithms/pbkdf2'
import { expect } from 'chai'
import { createProofKeys } from '../src/operations/registration/proof-keys.ts'
import { buildInvite, buildUser, readInvite } from './builders.ts'
import { startTestIdentity, type TestIdentity, type TestResponse } from './harness.ts'
import { testPassword } from './quick-hasher.ts'

const minute = 60_000
const required = [403, 'proof_required']
const refused = [403, 'proof_refused']

type Solution = { counter: number; derivedKey: string }

const encode = (challenge: object, solution: object) =>
  Buffer.from(JSON.stringify({ challenge, solution })).toString('base64')

async function solve(challenge: ProofChallenge): Promise<Solution> {
  const { counter, derivedKey } = (await solveChallenge({ challenge, deriveKey }))!
  return { counter, derivedKey }
}

/** Contract: 3, Proof of work. */
describe('Proof of work for a registration', () => {
  let identity: TestIdentity
  let names = 0
  before(async () => void (identity = await startTestIdentity()))
  after(async () => await identity[Symbol.asyncDispose]())
  // The library reads the clock of the process.
  beforeEach(async () => {
    identity.clock.set(Date.now())
    await set({ proofOfWork: 'registration', registrationOpen: true })
  })

  const em = () => identity.deps.orm.em.fork()
  const set = (settings: Partial<Settings>) => em().nativeUpdate(InstanceSettings, { id: 1 }, settings)
  const freshName = () => `worker_${(names += 1)}`
  const register = (given: object = {}, { call }: Pick<TestIdentity, 'call'> = identity): Promise<TestResponse> =>
    call('POST', '/api/auth/register', { body: { username: freshName(), password: testPassword, ...given } })
  const outcome = ({ status, body }: TestResponse) => (status < 300 ? [status] : [status, body['code']])
  const challenge = async () => (await identity.call('GET', '/api/auth/challenge')).body as unknown as ProofChallenge
  const prove = async () => {
    const given = await challenge()
    return encode(given, await solve(given))
  }
  const info = async () => (await identity.call('GET', '/api/instance/info')).body

  it('is not asked, offered or told while the setting is off', async () => {
    const proof = await prove()
    expect(await info()).to.include({ proofOfWork: 'registration' })
    await set({ proofOfWork: 'off' })

    expect(outcome(await identity.call('GET', '/api/auth/challenge'))).to.deep.equal([404, 'not_found'])
    expect(await info()).to.not.have.property('proofOfWork')
    for (const given of [{}, { proof: 'none' }, { proof: 7 }, { proof }, { proof }])
      expect(outcome(await register(given)), JSON.stringify(given)).to.deep.equal([201])
  })

  it('is asked of local and of federated registrations, and admits one of them', async () => {
    const federated = () => ({ username: `${freshName()}@away.example`, homeInstance: 'away.example' })
    for (const given of [{}, { proof: null }, { proof: '' }, federated()])
      expect(outcome(await register(given)), JSON.stringify(given)).to.deep.equal(required)
    const [ofLocal, ofFederated] = [await prove(), await prove()]

    expect(outcome(await register({ proof: ofLocal }))).to.deep.equal([201])
    expect(outcome(await register({ ...federated(), proof: ofFederated }))).to.deep.equal([201])
    for (const proof of [ofLocal, ofFederated]) {
      expect(outcome(await register({ proof }))).to.deep.equal(refused)
      expect(outcome(await register({ ...federated(), proof }))).to.deep.equal(refused)
    }
  })

  it('is not offered for a local registration of a blocked network, while an admin decides', async () => {
    const address = '203.0.113.9'
    const until = new Date(identity.clock.now() + 60 * minute)
    await em().insert(BlockedNetwork, { registrationId: '7', network: address, until })
    const ask = async (query: string, from = address) =>
      outcome(await identity.call('GET', `/api/auth/challenge${query}`, { address: from }))
    expect(await ask('?registration=local')).to.deep.equal([200])

    await set({ approvalRequired: true })

    expect(await ask('?registration=local')).to.deep.equal([403, 'registration_blocked'])
    expect(await ask('?registration=local', '203.0.113.10')).to.deep.equal([200])
    expect(await ask('')).to.deep.equal([200])
    await set({ registrationOpen: false })
    expect(await ask('?registration=local')).to.deep.equal([200])
    await set({ approvalRequired: false })
  })

  it('is not used up by a registration that names a taken username, or one that cannot be', async () => {
    const { username } = await buildUser(identity)
    const proof = await prove()

    expect(outcome(await register({ username, proof }))).to.deep.equal([409, 'username_taken'])
    expect((await register({ username: 'a b', proof })).status).to.equal(400)
    expect(outcome(await register({ proof }))).to.deep.equal([201])
  })

  it('is refused when it is wrong, changed, of another instance, or no proof at all', async () => {
    const given = await challenge()
    const right = await solve(given)
    const change = (parameters: object, solution: Solution = right) =>
      encode({ ...given, parameters: { ...given.parameters, ...parameters } }, solution)
    const expiresAt = given.parameters.expiresAt + 3_600
    const [ofOthers] = createProofKeys('the secret of another instance')
    const theirs = await startTestIdentity({ overrides: { proofKeys: [ofOthers!] } })
    await using _ = theirs
    await theirs.deps.orm.em.fork().nativeUpdate(InstanceSettings, { id: 1 }, { proofOfWork: 'registration' })
    const foreign = (await theirs.call('GET', '/api/auth/challenge')).body as unknown as ProofChallenge
    const wrong = {
      counter: encode(given, { ...right, derivedKey: '0'.repeat(64) }),
      easier: change({ cost: 1 }),
      later: change({ expiresAt }),
      unsigned: encode({ ...given, signature: '' }, right),
      unfinished: encode(given, {}),
      foreign: encode(foreign, await solve(foreign)),
      text: 'a proof',
      number: 7,
      long: Buffer.from(JSON.stringify({ challenge: given, solution: right, more: 'x'.repeat(2_000) })).toString(
        'base64',
      ),
    }

    for (const [name, proof] of Object.entries(wrong))
      expect(outcome(await register({ proof })), name).to.deep.equal(refused)
    expect(outcome(await register({ proof: encode(given, right) }))).to.deep.equal([201])
  })

  it('ends two minutes after it was asked for, so that none is computed in advance', async () => {
    const [kept, used] = [await prove(), await prove()]
    identity.clock.advance(2 * minute - 2_000)
    expect(outcome(await register({ proof: used }))).to.deep.equal([201])
    identity.clock.advance(3_000)

    expect(outcome(await register({ proof: kept }))).to.deep.equal(refused)
  })

  it('admits one of sixteen requests with it, on two replicas at once, and one password is hashed', async () => {
    await using replica = await startTestIdentity({ databaseUrl: identity.databaseUrl })
    replica.clock.set(identity.clock.now())
    const hashed = () => identity.hasher.hashed + replica.hasher.hashed
    const [proof, before] = [await prove(), hashed()]

    const attempts = Array.from({ length: 16 }, (_, n) => register({ proof }, n % 2 ? replica : identity))
    const outcomes = (await Promise.all(attempts)).map(outcome)

    expect(outcomes.filter(([status]) => status === 201)).to.have.length(1)
    expect(outcomes.filter(([, code]) => code === 'proof_refused')).to.have.length(15)
    expect(hashed() - before).to.equal(1)
  })

  it('counts where the secret was changed meanwhile, while the one before is named', async () => {
    const { encryptionSecret } = identity.config
    const start = (config: object) => startTestIdentity({ databaseUrl: identity.databaseUrl, config })
    const changed = { encryptionSecret: 'the secret after the change of the secret' }
    await using renewed = await start({ ...changed, previousEncryptionSecrets: [encryptionSecret] })
    await using unaware = await start(changed)
    for (const { clock } of [renewed, unaware]) clock.set(identity.clock.now())
    const proof = await prove()

    expect(outcome(await register({ proof }, unaware))).to.deep.equal(refused)
    expect(outcome(await register({ proof }, renewed))).to.deep.equal([201])
  })

  it('is not asked of who was invited: the invite is redeemed, also at an open gate, and admits no more than it may', async () => {
    const { id, token } = await buildInvite(identity)
    const bad = [403, 'invite_invalid']

    expect(outcome(await register({ inviteToken: 'made up' }))).to.deep.equal(bad)
    expect(outcome(await register({ inviteToken: token }))).to.deep.equal([201])
    expect((await readInvite(identity, id)).usedCount).to.equal(1)
    expect(outcome(await register({ inviteToken: token }))).to.deep.equal(bad)
    await set({ proofOfWork: 'off' })
    expect(outcome(await register({ inviteToken: token }))).to.deep.equal([201])
    expect((await readInvite(identity, id)).usedCount).to.equal(1)
  })

  it('gets harder with the registrations of the last hour, and easier after it', async () => {
    await em().nativeDelete(UsedToken, {})
    const counterMax = async () => (await challenge()).parameters.data.counterMax
    const used = (issuer: string) => (_: unknown, n: number) => ({
      issuer,
      token: String(n),
      expiresAt: new Date(identity.clock.now() + 60 * minute),
    })
    expect(await counterMax()).to.equal(30)

    await em().insertMany(UsedToken, Array.from({ length: 40 }, used('proof of work')))
    await em().insertMany(UsedToken, Array.from({ length: 40 }, used('https://provider.example')))
    expect(await counterMax()).to.equal(120)
    expect(outcome(await register({ proof: await prove() }))).to.deep.equal([201])
    expect(await counterMax()).to.equal(123)
    identity.clock.advance(61 * minute)
    expect(await counterMax()).to.equal(30)
  })
})
