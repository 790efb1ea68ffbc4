import { expect } from 'chai'
import { judge, type World } from './judge.ts'
import { formatRun } from './report.ts'
import { runMesh, type MeshOptions, type MeshRun } from './run-mesh.ts'

type Options = Pick<MeshOptions, 'seed' | 'size'> & {
  /** What must have been counted, how often at least. */
  goals: Readonly<Record<string, number>>
}

/** Registers the tests of one round of this size. */
export function testMesh({ seed, size, goals }: Options): void {
  let run: MeshRun
  before(async () => {
    run = await runMesh({ seed, size, minutes: 0, log: () => undefined })
    process.stdout.write(`${formatRun(run)}\n`)
  })

  it('has every identity where it should be, once, and no secret in a log', () => {
    expect(run.findings.map(({ what }) => what)).to.deep.equal([])
  })

  it('was in trouble, and did something, meanwhile', () => {
    const counts = new Map(run.journal.counts())
    for (const [what, least] of Object.entries(goals)) expect(counts.get(what), what).to.be.at.least(least)
  })

  it('names what is planted: a deletion dropped, an account doubled or lost, a peer parked, a secret in a log', () => {
    const { journal, world } = run
    const planted = (change: (copy: World) => void): string[] => {
      const copy = structuredClone(world)
      change(copy)
      return judge(copy, journal).map(({ what }) => what)
    }
    const person = journal.people.find(({ state, replicas }) => state === 'present' && replicas.size > 0)!
    const isHere = ({ state, at, life }: { state: string; at: string; life: number }) =>
      state === 'present' && world.get(at)!.life === life
    const holder = journal.people.find(
      ({ home, life, replicas }) => world.get(home)!.life === life && [...replicas.values()].some(isHere),
    )!
    const replica = [...holder.replicas.values()].find(isHere)!
    const usersOf = (copy: World) => copy.get(replica.at)!.users
    const [secret] = journal.secrets
    const dropped = { ...holder, replicas: new Map([[replica.at, { ...replica, state: 'ordered' as const }]]) }
    const deleted = { ...holder, replicas: new Map([[replica.at, { ...replica, state: 'absent' as const }]]) }
    const judgeOne = (person: typeof holder) => judge(world, { people: [person], secrets: new Set() })[0]?.what

    expect(planted(() => undefined)).to.deep.equal([])
    expect(judgeOne(deleted)).to.equal(`${holder.name} is there, and must not be, at ${replica.at}`)
    expect(judgeOne(dropped)).to.equal(
      `${holder.name} was to be deleted by an order that is kept no more, at ${replica.at}`,
    )
    expect(
      planted(
        (copy) => void usersOf(copy).push({ ...usersOf(copy).find(({ id }) => id === replica.id)!, id: '1' }),
      ).join(),
    ).to.match(/twice|two accounts/)
    expect(
      planted(
        (copy) =>
          void usersOf(copy).splice(
            usersOf(copy).findIndex(({ id }) => id === replica.id),
            1,
          ),
      ),
    ).to.include(`${holder.name} is lost at ${replica.at}`)
    expect(planted((copy) => void copy.get(replica.at)!.peers.clear()).join()).to.include(`${replica.at} has`)
    expect(planted((copy) => void (copy.get(replica.at)!.log += secret ?? '')).join()).to.include(
      `the log of ${replica.at} holds a secret`,
    )
    expect(person.steps).to.not.equal([])
  })
}
