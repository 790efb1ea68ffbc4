import { join } from 'node:path'
import { expect } from 'chai'
import { cloneFrom, commitAll, listReleased, makeClone, makeParent, names, release } from './release-clone.ts'

describe('npm run release, twice', function () {
  this.timeout(600_000)
  const scope = new AsyncDisposableStack()
  after(() => scope.disposeAsync())

  it('is the same in two clones of different paths and modes; while a base has no digest, it says so and has no image', async () => {
    const parent = makeParent(scope)
    const [first, second] = [join(parent, 'first'), join(parent, 'a-second-one')]
    makeClone(first)
    commitAll(first)
    cloneFrom(first, second)

    const withoutDigests = await release(first)
    const withoutImages = await release(second, '--without-images')

    expect(withoutDigests.code, withoutDigests.output).to.equal(2)
    expect(withoutDigests.output).to.match(
      /^NO IMAGES: node:24-bookworm-slim is named without a digest: npm run release -- renew-bases$/m,
    )
    expect(withoutImages.code, withoutImages.output).to.equal(0)
    expect(Object.keys(listReleased(first))).to.have.members(names)
    expect(listReleased(second)).to.deep.equal(listReleased(first))
  })
})
