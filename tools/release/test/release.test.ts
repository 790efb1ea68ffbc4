import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { documentedCommand } from '@gatehouse/test-kit'
import { makeClone, makeParent, release, runRelease } from './release-clone.ts'
import { makeTools } from './stand-in-tools.ts'

describe('npm run release', () => {
  const scope = new AsyncDisposableStack()
  let tools: Awaited<ReturnType<typeof makeTools>>
  let parent: string
  let first: string

  before(async () => {
    tools = scope.use(await makeTools())
    parent = makeParent(scope)
    first = join(parent, 'first')
    makeClone(first)
  })
  after(() => scope.disposeAsync())

  it('is refused for files that no commit has', async () => {
    const { code, output } = await release(first)

    expect(code).to.equal(1)
    expect(output).to.match(
      /^npm run release: a release is that of a commit, and these files are in none: .*README\.md/,
    )
  })

  it('is refused with what is no option', async () => {
    expect(await release(first, 'publish')).to.deep.include({ code: 1 })
    expect(await release(first, '--image')).to.deep.include({ code: 1 })
  })

  // release-files.system.test.ts makes a whole one.
  it('names each base image by the digest of the manifest that its tag has in the registry', async () => {
    const renewBases = documentedCommand('npm run release -- renew-bases')
    await tools.place('skopeo', "printf '{}'")
    const { code, output } = await runRelease(first, renewBases, { path: tools.folder })

    expect({ code, output }).to.deep.include({ code: 0 })
    expect(await tools.readCalls()).to.include('skopeo inspect --raw docker://docker.io/library/debian:bookworm-slim')
    const digest = createHash('sha256').update('{}').digest('hex')
    for (const file of ['deploy/Dockerfile', 'docker-compose.yml']) {
      const images =
        readFileSync(join(first, file), 'utf8').match(/^(FROM (--\S+ )?| +image: )[\w-]+:(?!local)\S+/gm) ?? []
      expect(images.length).to.be.greaterThan(1)
      for (const image of images) expect(image).to.match(new RegExp(`:[\\w.-]+@sha256:${digest}$`))
    }
    expect((await runRelease(first, renewBases, { path: tools.folder })).output).to.include('is as it was')
  })
})
