import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { findImageTool, readDigest } from '../image-tool.ts'
import { makeTools } from './stand-in-tools.ts'

const createdAt = new Date('2026-01-02T03:04:05Z')
const source = { version: '1.2.3', commit: 'c0ffee', createdAt, folder: '/project' }
const commonOf = (platforms: string) =>
  `--no-cache --platform ${platforms} --label org.opencontainers.image.title=gatehouse ` +
  '--label org.opencontainers.image.version=1.2.3 --label org.opencontainers.image.revision=c0ffee ' +
  '--file /project/deploy/Dockerfile'

describe('the tool that builds the image of a release', () => {
  let tools: Awaited<ReturnType<typeof makeTools>>
  let env: NodeJS.ProcessEnv
  beforeEach(async () => {
    tools = await makeTools()
    env = { PATH: tools.folder }
  })
  afterEach(() => tools[Symbol.asyncDispose]())

  it('is buildah, with the time of the commit and one list of all platforms', async () => {
    await tools.placeBuildah()
    await tools.place('docker', 'exit 0')
    const archive = join(tools.folder, 'image.oci.tar')

    // It packs with tar.
    const tool = await findImageTool({ PATH: `${tools.folder}:${process.env.PATH}` })
    await tool.build({ ...source, archive })

    expect(tool.name).to.equal('buildah version 1.2.3')
    const list = 'localhost/gatehouse-release:1.2.3'
    expect(await tools.readCalls()).to.deep.equal([
      'buildah --version',
      `buildah manifest rm ${list}`,
      ...['linux/amd64', 'linux/arm64'].map(
        (platform) =>
          `buildah build ${commonOf(platform)} --manifest ${list} --timestamp 1767323045 --network host ` +
          '--ignorefile /project/deploy/Dockerfile.dockerignore /project',
      ),
      `buildah manifest push --all --rm ${list} oci:${archive}.layout:1.2.3`,
    ])
    expect((await readFile(archive)).includes('./index.json')).to.equal(true)
  })

  it('is docker with buildx where there is no buildah, with the same time and no provenance of its own', async () => {
    await tools.place('docker', 'echo "buildx $SOURCE_DATE_EPOCH"')
    const archive = join(tools.folder, 'image.oci.tar')

    const tool = await findImageTool(env)
    await tool.build({ ...source, archive })

    expect(await tools.readCalls()).to.deep.equal([
      'docker buildx version',
      `docker buildx build ${commonOf('linux/amd64,linux/arm64')} --provenance=false --tag gatehouse:1.2.3 ` +
        `--output type=oci,dest=${archive},rewrite-timestamp=true /project`,
    ])
  })

  it('gives buildx the time of the commit', async () => {
    await tools.place('docker', `echo "$SOURCE_DATE_EPOCH" > '${join(tools.folder, 'epoch')}'`)

    await (await findImageTool(env)).build({ ...source, archive: join(tools.folder, 'image.oci.tar') })

    expect(await readFile(join(tools.folder, 'epoch'), 'utf8')).to.equal('1767323045\n')
  })

  it('is reported as missing, and says why a build failed', async () => {
    await expectError(findImageTool(env), 'the image needs buildah, or docker with buildx: neither is on the PATH')
    await tools.place('docker', 'test "$2" = version || { echo "no such host" >&2; exit 1; }')

    const tool = await findImageTool(env)

    await expectError(tool.build({ ...source, archive: '/nowhere' }), 'docker buildx: no such host')
  })

  it('reads the digest of a tag with skopeo, else with docker', async () => {
    await tools.place('docker', "printf '{}'")
    const withDocker = await readDigest('docker.io/library/debian:bookworm-slim', env)
    await tools.place('skopeo', "printf '{}'")
    const withSkopeo = await readDigest('docker.io/library/debian:bookworm-slim', env)

    expect(await tools.readCalls()).to.deep.equal([
      'docker buildx imagetools inspect --raw docker.io/library/debian:bookworm-slim',
      'skopeo inspect --raw docker://docker.io/library/debian:bookworm-slim',
    ])
    // sha256 of "{}".
    const digest = 'sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a'
    expect([withDocker, withSkopeo]).to.deep.equal([digest, digest])
  })
})

async function expectError(act: Promise<unknown>, message: string): Promise<void> {
  const error = await act.then(
    () => null,
    (err: Error) => err.message,
  )
  expect(error).to.equal(message)
}
