import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { upstreamEventNames, upstreamEvents } from './contract.ts'

const page = readFileSync(new URL('../../../docs/integrate/live-messages-and-events.md', import.meta.url), 'utf8')
const [, block = ''] = /<!-- bodies of events -->\s+```\n([^`]+)\n```/.exec(page) ?? []
const bodies = new Map(block.split('\n').map((line) => [line.split(' ', 1)[0]!, line.slice(line.indexOf(' '))]))

describe('docs/integrate/live-messages-and-events.md', () => {
  it('shows the body of every event that an upstream may name', () => {
    expect([...bodies.keys()]).to.have.members(upstreamEventNames)
  })

  for (const { name, payload } of upstreamEvents) {
    it(`shows ${name} with all fields that it always has, and no others`, () => {
      const body: unknown = JSON.parse(bodies.get(name) ?? 'null')

      expect(payload.parse(body)).to.deep.equal(body)
    })
  }
})
