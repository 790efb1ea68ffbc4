import { join } from 'node:path'
import { expect } from 'chai'
import { cloneFrom, commitAll, listReleased, makeClone, makeParent, names, release } from './release-clone.ts'

describe('npm run release, twice', function () {
  this.timeout(600_000)
  const scope = new AsyncDisposableStack()
  after(() => scope.disposeAsync())

  it('is the same in two clones of different paths and modes', async () => {
    const parent = makeParent(scope)
    const [first, second] = [join(parent, 'first'), join(parent, 'a-second-one')]
    makeClone(first)
    commitAll(first)
    cloneFrom(first, second)

    const releases = [await release(first, '--without-images'), await release(second, '--without-images')]

    for (const { code, output } of releases) expect(code, output).to.equal(0)
    expect(Object.keys(listReleased(first))).to.have.members(names)
    expect(listReleased(second)).to.deep.equal(listReleased(first))
  })
})
