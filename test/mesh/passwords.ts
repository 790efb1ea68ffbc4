import { logIn, placeOf, repeat, type Scene } from './calls.ts'
import type { Finding } from './judge.ts'
import type { Person, Replica } from './journal.ts'
import type { Place } from './places.ts'

const loginLimitMs = 20_000
/** Hashing takes the time. */
const peopleAtOnce = 4

/** The password of now opens the account everywhere, those before none, and nothing opens a deleted one. */
export async function judgePasswords(scene: Scene, people: readonly Person[]): Promise<Finding[]> {
  const findings: Finding[] = []
  const waiting = [...people]
  await Promise.all(
    Array.from({ length: peopleAtOnce }, async () => {
      for (let next = waiting.shift(); next; next = waiting.shift()) await judgePerson(next)
    }),
  )
  return findings

  async function judgePerson(person: Person): Promise<void> {
    const home = placeOf(scene, person.home)
    if (person.state === 'unborn' || person.state === 'maybe') return
    const isHomeless = person.life !== home.life()
    if (!isHomeless) await expectAt(home, person.name, person.state === 'present')
    for (const replica of person.replicas.values()) await judgeReplica(replica, isHomeless)

    async function judgeReplica(replica: Replica, isHomeless: boolean): Promise<void> {
      const place = placeOf(scene, replica.at)
      const username = `${person.name}@${home.host}`
      if (replica.life !== place.life() || !['present', 'absent'].includes(replica.state)) return
      // Without a home nobody but the instance itself knows a password.
      const isKept = isHomeless || person.state === 'gone'
      if (isKept && replica.password === null) return
      const password = isKept ? (replica.password ?? '') : person.password
      await expectAt(place, username, replica.state === 'present', password, isKept)
    }

    async function expectAt(place: Place, username: string, isOpen: boolean, password = person.password, only = false) {
      const expected = isOpen ? 200 : 401
      const last = { status: 0 }
      const isRight = await repeat(async () => {
        last.status = (await logIn(scene, place, username, password))?.status ?? 0
        return last.status === expected ? true : null
      }, loginLimitMs)
      scene.journal.count('passwords tried at the end')
      if (!isRight) find(`the password was answered with ${last.status} at ${place.name}, not ${expected}`)
      const former = person.formerPasswords.at(-1)
      if (only || former === undefined || !isRight) return
      const answer = await logIn(scene, place, username, former)
      scene.journal.count('passwords tried at the end')
      if (answer?.status === 200) find(`a former password still opens the account at ${place.name}`)
    }

    function find(what: string): void {
      findings.push({ what: `${person.name}: ${what}`, person })
    }
  }
}
