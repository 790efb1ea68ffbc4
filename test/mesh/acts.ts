import { randomBytes } from 'node:crypto'
import { asPerson, call, logIn, placeOf, repeat, step, type Scene } from './calls.ts'
import type { Person, Replica } from './journal.ts'
import type { Place } from './places.ts'

type Mode = 'soft' | 'full'
export type Act =
  | { kind: 'profile' | 'password' | 'close' }
  | { kind: 'connect'; at: string }
  | { kind: 'remove'; at: string; mode: Mode; durable: boolean }

/** Carries one act out as the client of a person does, until its outcome is known. */
export async function carryOut(scene: Scene, person: Person, act: Act): Promise<void> {
  const isPossible = person.state === 'present' && person.life === placeOf(scene, person.home).life()
  if (!isPossible) return
  scene.journal.count(`act: ${act.kind}`)
  if (act.kind === 'connect') await connect(scene, person, placeOf(scene, act.at))
  else if (act.kind === 'remove') await remove(scene, person, act)
  else if (act.kind === 'profile') await editProfile(scene, person)
  else if (act.kind === 'password') await changePassword(scene, person)
  else await closeAccount(scene, person)
}

/** At home, where nobody else has the name. */
export async function beBorn(scene: Scene, person: Person): Promise<void> {
  const home = placeOf(scene, person.home)
  const { name: username, password } = person
  if (home.kind === 'reference') {
    // Existing instances search by homeUserId alone, and few workers are told apart. protocol.md 1.1.
    const id = BigInt(`0x${randomBytes(7).toString('hex')}`).toString()
    const user = home.peer.addUser({ id, username, password })
    home.people.set(user.id, user)
    Object.assign(person, { id: user.id, state: 'present' })
    return step(person, `registered at ${home.name}`)
  }
  const born = await repeat(async () => {
    const answer = await call(scene, home, 'POST /api/auth/register', { body: { username, password } })
    if (answer?.status === 201) return answer
    const again = answer?.status === 409 ? await logIn(scene, home, username, password) : null
    return again?.status === 200 ? again : null
  })
  if (!born) return (scene.journal.violations.push(`${username} could not register at ${home.name}`), undefined)
  const { id } = born.body.user as { id: string }
  Object.assign(person, { id, token: born.body.token, state: 'present' })
  step(person, `registered at ${home.name}`)
}

async function connect(scene: Scene, person: Person, place: Place): Promise<void> {
  const before = person.replicas.get(place.name)
  if (before && before.state !== 'absent' && before.life === place.life()) return
  const home = placeOf(scene, person.home)
  const username = `${person.name}@${home.host}`
  const replica: Replica = { at: place.name, state: 'maybe', id: '', life: place.life(), password: null }
  person.replicas.set(place.name, replica)
  const { password, displayName, id } = person
  const identity = { homeInstance: home.host, homeUserId: id }
  const body = { username, password, ...identity, ...(displayName !== null && { displayName }) }
  const joined = await repeat(async () => {
    const answer = await call(scene, place, 'POST /api/auth/register', { body })
    if (answer?.status === 201 || answer?.status === 200) return answer
    const again = answer?.status === 409 ? await logIn(scene, place, username, password) : null
    return again?.status === 200 ? again : null
  })
  step(person, joined ? `connected to ${place.name}` : `no answer told whether it is connected to ${place.name}`)
  if (!joined) return scene.journal.count('acts of unknown outcome')
  const user = joined.body.user as { id: string }
  Object.assign(replica, { state: 'present', id: user.id, password })
  await tellHome(scene, person, place)
}

/** The client names the instances at home, which sends the profile there, and sees to the peering. */
async function tellHome(scene: Scene, person: Person, place: Place): Promise<void> {
  const home = placeOf(scene, person.home)
  const username = `${person.name}@${home.host}`
  if (home.kind === 'reference') {
    const user = home.people.get(person.id)
    if (user) home.peer.nameInstance(user, { origin: place.origin, username })
    return
  }
  const replicas = [...person.replicas.values()].filter(({ state }) => state !== 'absent')
  const replicatedInstances = replicas.map(({ at }) => ({ origin: placeOf(scene, at).origin, username }))
  await repeat(async () => {
    const answer = await asPerson(scene, person, 'PATCH /api/users/@me', { replicatedInstances })
    return answer?.status === 200 ? answer : null
  })
  const ensured = await asPerson(scene, person, 'POST /api/federation/peer/ensure', { remoteOrigin: place.origin })
  scene.journal.count(`peerings ensured with ${ensured?.status ?? 'no answer'}`)
}

let edits = 0

export async function editProfile(scene: Scene, person: Person): Promise<string | null> {
  edits += 1
  const displayName = `${person.name.slice(0, 20)} ${edits}`
  const home = placeOf(scene, person.home)
  person.displayName = null
  if (home.kind === 'reference') {
    const user = home.people.get(person.id)
    if (!user) return null
    home.peer.editProfile(user, { displayName })
  } else {
    const edited = await repeat(async () => {
      const answer = await asPerson(scene, person, 'PATCH /api/users/@me', { displayName })
      return answer?.status === 200 ? answer : null
    })
    if (!edited) return (scene.journal.count('acts of unknown outcome'), null)
  }
  person.displayName = displayName
  step(person, `is called "${displayName}"`)
  return displayName
}

let passwords = 0

async function changePassword(scene: Scene, person: Person): Promise<void> {
  passwords += 1
  const [currentPassword, newPassword] = [person.password, `password ${passwords} of ${person.name}`]
  const home = placeOf(scene, person.home)
  scene.journal.secrets.add(newPassword)
  if (home.kind === 'reference') {
    const user = home.people.get(person.id)
    if (user) user.password = newPassword
  } else {
    const token = await repeat(async () => {
      const body = { currentPassword, newPassword }
      const answer = await call(scene, home, 'POST /api/users/@me/change-password', { token: person.token, body })
      if (answer?.status === 200) return answer.body.token ?? ''
      const isNew = await logIn(scene, home, person.name, newPassword)
      if (isNew?.status === 200) return isNew.body.token ?? ''
      const old = await logIn(scene, home, person.name, currentPassword)
      if (old?.status === 200) person.token = old.body.token ?? ''
      return null
    })
    if (token === null) {
      scene.journal.violations.push(`${person.name} could neither change the password nor learn what it is`)
      return
    }
    person.token = token
  }
  person.password = newPassword
  person.formerPasswords.push(currentPassword)
  step(person, 'has another password')
  for (const replica of person.replicas.values()) await propagate(scene, person, replica)
}

/** Elsewhere the new password is tried once; what it does not reach keeps the one from before. */
async function propagate(scene: Scene, person: Person, replica: Replica): Promise<void> {
  const place = placeOf(scene, replica.at)
  if (replica.state !== 'present' || replica.life !== place.life() || scene.random.chance(0.3)) return
  const username = `${person.name}@${placeOf(scene, person.home).host}`
  const answer = await logIn(scene, place, username, person.password)
  if (answer?.status === 200) replica.password = person.password
  else if (!answer) replica.password = null
}

type Removal = { at: string; mode: Mode; durable: boolean }

async function remove(scene: Scene, person: Person, { at, mode, durable }: Removal): Promise<void> {
  const replica = person.replicas.get(at)
  const place = placeOf(scene, at)
  if (!replica || ['absent', 'ordered'].includes(replica.state) || replica.life !== place.life()) return
  const home = placeOf(scene, person.home)
  replica.state = 'maybe'
  const outcome = await repeat(async () => {
    const results = await askDeletion()
    const result = results?.[place.origin]
    if (result && !result.success) scene.journal.count(`deletions of ${home.kind} answered with ${result.error}`)
    if (result?.order === 'waiting') return 'ordered'
    return result?.success ? 'absent' : null
  })
  replica.state = outcome ?? 'maybe'
  if (outcome === 'ordered') scene.journal.count('deletions ordered')
  if (!outcome) scene.journal.count('acts of unknown outcome')
  step(person, `${outcome ? `deletion: ${outcome}` : 'no answer told whether it is deleted'} at ${at} (${mode})`)

  type Results = Record<string, { success: boolean; error?: string; order?: string }>
  async function askDeletion(): Promise<Results | null> {
    const origins = [place.origin]
    if (home.kind === 'reference') {
      const user = home.people.get(person.id)
      return user ? await home.peer.deleteIdentities(user, origins, mode) : null
    }
    const body = { origins, mode, durable }
    const answer = await asPerson(scene, person, 'POST /api/users/@me/federation-identity/delete', body)
    return answer?.status === 200 ? (answer.body.results as Results) : null
  }
}

/** The identities elsewhere first, then the account; an existing instance has no such request for us. */
async function closeAccount(scene: Scene, person: Person): Promise<void> {
  const home = placeOf(scene, person.home)
  if (home.kind === 'reference') return
  for (const { at } of person.replicas.values()) await remove(scene, person, { at, mode: 'full', durable: true })
  person.state = 'maybe'
  const { name: username, password } = person
  const gone = await repeat(async () => {
    const answer = await asPerson(scene, person, 'DELETE /api/users/@me', { username, password })
    if (answer?.status === 200) return true
    return (await logIn(scene, home, username, password))?.status === 401 ? true : null
  })
  if (gone) person.state = 'gone'
  step(person, gone ? 'closed the account' : 'no answer told whether the account is closed')
}
