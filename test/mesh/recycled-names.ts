import { randomBytes } from 'node:crypto'
import { asPerson, call, logIn, placeOf, repeat, type Scene } from './calls.ts'
import type { Finding } from './judge.ts'
import type { Person, Replica } from './journal.ts'
import type { OurPlace, Place } from './places.ts'

const peopleMax = 4

type Holding = { person: Person; home: Place; replica: Replica; place: OurPlace }

/**
 * Homes delete accounts while an instance that has them too is down, and give their names to strangers. No stranger lands in
 * the account there, by a login or by a registration. Contract: 7, Login repair.
 */
export async function judgeRecycledNames(scene: Scene): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const holding of findHoldings(scene)) {
    const { person, home, replica, place } = holding
    await place.kill()
    const stranger = await recycle(scene, person, home)
    await place.start()
    if (!stranger) return [{ what: `the name of ${person.name} could not be given to a stranger`, person }]
    scene.journal.count('names given to a stranger')
    const username = `${person.name}@${home.host}`
    const identity = { username, password: stranger.password, homeInstance: home.host, homeUserId: stranger.id }
    const landed = (answer: Awaited<ReturnType<typeof logIn>>) =>
      answer?.status === 200 || (answer?.status === 201 && (answer.body.user as { id: string }).id === replica.id)
    for (const attempt of [
      () => logIn(scene, place, username, stranger.password),
      () => call(scene, place, 'POST /api/auth/register', { body: identity }),
    ]) {
      const answer = await repeat(async () => {
        const one = await attempt()
        return one && one.status < 500 ? one : null
      })
      if (!answer) findings.push({ what: `nobody answered a stranger at ${place.name}`, person })
      if (landed(answer)) findings.push({ what: `a stranger is ${person.name} at ${place.name}`, person })
    }
    // The control: the account is there, and opens for its own person.
    const own = await logIn(scene, place, username, replica.password ?? '')
    if (own?.status !== 200) findings.push({ what: `${person.name} is shut out at ${place.name}`, person })
  }
  return findings
}

/** Of each kind of home in turn. */
function findHoldings(scene: Scene): Holding[] {
  const holdings = scene.journal.people.flatMap((person) => {
    const home = placeOf(scene, person.home)
    if (person.state !== 'present' || person.life !== home.life()) return []
    for (const replica of person.replicas.values()) {
      const place = placeOf(scene, replica.at)
      const isThere = replica.state === 'present' && replica.life === place.life() && replica.password !== null
      if (isThere && place.kind === 'ours') return [{ person, home, replica, place }]
    }
    return []
  })
  const [ours, references] = (['ours', 'reference'] as const).map((kind) =>
    holdings.filter(({ home }) => home.kind === kind),
  )
  return [...(ours ?? []).slice(0, peopleMax / 2), ...(references ?? []).slice(0, peopleMax / 2)]
}

/** The account goes, and nobody elsewhere is told. */
async function recycle(scene: Scene, person: Person, home: Place): Promise<{ id: string; password: string } | null> {
  const { name: username, password: former } = person
  const password = `password of the stranger ${username}`
  scene.journal.secrets.add(password)
  if (home.kind === 'reference') {
    const user = home.people.get(person.id)
    if (!user) return null
    user.deleted = true
    const id = BigInt(`0x${randomBytes(7).toString('hex')}`).toString()
    return { id: home.peer.addUser({ id, username, password }).id, password }
  }
  const gone = await asPerson(scene, person, 'DELETE /api/users/@me', { username, password: former })
  if (gone?.status !== 200) return null
  const born = await call(scene, home, 'POST /api/auth/register', { body: { username, password } })
  return born?.status === 201 ? { id: (born.body.user as { id: string }).id, password } : null
}
