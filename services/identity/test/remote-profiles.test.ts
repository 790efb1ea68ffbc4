import { expect } from 'chai'
import sharp from 'sharp'
import { applyRemoteProfiles, type RemoteProfile } from '@gatehouse/contracts'
import type { User } from '@gatehouse/domain'
import { OutboundFailure, type Outbound, type OutboundAnswer, type OutboundRequest } from '@gatehouse/outbound'
import { eventually } from '@gatehouse/test-kit'
import { policy } from '../src/policy.ts'
import { buildStub, buildUser, readUser } from './builders.ts'
import { column } from './chat.ts'
import { startTestIdentity, type TestIdentity } from './harness.ts'

const origin = 'https://home.example'
const host = 'home.example'

function fakeHome(image: Buffer) {
  const home = {
    asked: [] as OutboundRequest[],
    /** Requests to hosts that hang fail when it is resolved. */
    hanging: Promise.withResolvers<void>(),
    hangingNow: 0,
    mostHangingAtOnce: 0,
    answer: { status: 200, headers: { 'content-type': 'image/png' }, body: image } as OutboundAnswer | OutboundFailure,
    outbound: {
      request: async (request: OutboundRequest): Promise<OutboundAnswer> => {
        home.asked.push(request)
        if (isHanging(request)) await hang()
        if (home.answer instanceof OutboundFailure) throw home.answer
        return home.answer
      },
      [Symbol.asyncDispose]: async () => undefined,
    } satisfies Outbound,
  }
  async function hang(): Promise<never> {
    home.hangingNow += 1
    home.mostHangingAtOnce = Math.max(home.mostHangingAtOnce, home.hangingNow)
    await home.hanging.promise
    home.hangingNow -= 1
    throw tooSlow()
  }
  return home
}

const tooSlow = () => new OutboundFailure('timeout', 'too slow')
const isHanging = ({ url }: Pick<OutboundRequest, 'url'>) => new URL(url).host.endsWith('.hanging.example')

describe('Profiles that a peer reports', () => {
  let image: Buffer
  let home: ReturnType<typeof fakeHome>
  let identity: TestIdentity
  let user: User
  let made = 0
  before(async () => {
    image = await sharp({ create: { width: 20, height: 10, channels: 3, background: 'red' } })
      .png()
      .toBuffer()
    home = fakeHome(image)
    identity = await startTestIdentity({ overrides: { outbound: home.outbound } })
  })
  after(async () => await identity[Symbol.asyncDispose]())
  beforeEach(async () => {
    made += 1
    home.asked = []
    home.mostHangingAtOnce = 0
    home.hanging = Promise.withResolvers()
    home.answer = { status: 200, headers: { 'content-type': 'image/png' }, body: image }
    const username = `ivy_${made}@home.example`
    user = await buildUser(identity, { username, homeInstance: host, homeUserId: `h${made}`, bio: 'old' })
  })

  const profileOf = (more: Partial<RemoteProfile> = {}): RemoteProfile => ({
    homeUserId: `h${made}`,
    profileUpdatedAt: 10,
    username: 'renamed',
    displayName: ' Ivy ',
    bio: null,
    avatar: null,
    banner: null,
    accentColor: '#aabbcc',
    avatarColor: 'mint',
    ...more,
  })
  async function apply(more: Partial<RemoteProfile> = {}, from = host): Promise<number> {
    const request = { origin, host: from, profiles: [profileOf(more)] }
    const { applied } = await identity.deps.bus.request(applyRemoteProfiles, request, { timeoutMs: 10_000 })
    await identity.deps.remotePictures.idle()
    return applied
  }
  const now = () => readUser(identity, user.id)

  it('replace all fields but the name, when they are newer than what is shown', async () => {
    expect(await apply()).to.equal(1)
    const shown = { displayName: 'Ivy', bio: null, accentColor: '#aabbcc', avatarColor: 'mint', profileUpdatedAt: 10 }
    expect(await now()).to.include({ ...shown, username: user.username, passwordHash: user.passwordHash })

    for (const profileUpdatedAt of [10, 9]) {
      expect(await apply({ displayName: 'Old', profileUpdatedAt })).to.equal(0)
    }
    expect(await now()).to.include(shown)
    expect(await apply({ displayName: 'New', profileUpdatedAt: 11 })).to.equal(1)
    expect((await now()).displayName).to.equal('New')
  })

  it('are cut to what can be shown here', async () => {
    await apply({ displayName: '🦊'.repeat(40), bio: 'x'.repeat(300), accentColor: 'url(evil)', avatarColor: 'black' })

    const shown = { displayName: '🦊'.repeat(32), bio: 'x'.repeat(190), accentColor: null, avatarColor: null }
    expect(await now()).to.include(shown)
  })

  it('lose what would turn or break the line of a name', async () => {
    await apply({ displayName: ' I\u202e\nvy\u2069', bio: 'one\ntwo' })

    expect(await now()).to.include({ displayName: 'Ivy', bio: 'one\ntwo' })
  })

  it('reach stubs too, and neither users of other homes nor local, detached and deleted ones', async () => {
    const stub = await buildStub(identity, { homeUserId: 'stub' })
    const other = { username: 'x@away.example', homeInstance: 'away.example', homeUserId: 'away' }
    const away = await buildUser(identity, other)

    expect(await apply({ homeUserId: 'stub' })).to.equal(1)
    expect(await apply({ homeUserId: 'away' })).to.equal(0)
    expect(await apply({ homeUserId: 'unknown' })).to.equal(0)
    expect(await apply({}, 'away.example')).to.equal(0)
    expect((await readUser(identity, stub.id)).displayName).to.equal('Ivy')
    expect((await readUser(identity, away.id)).displayName).to.equal(null)
  })

  it('bring their pictures, fetched once from their home and converted like uploads', async () => {
    const avatar = `${origin}/api/uploads/1.png`
    await apply({ avatar })

    const filename = (await now()).avatar
    expect(filename).to.match(/\.webp$/)
    const file = await identity.call('GET', `/api/uploads/${filename}`)
    expect([file.status, home.asked.map(({ url, method }) => [method, url])]).to.deep.equal([200, [['GET', avatar]]])
    expect(home.asked[0]).to.include({ timeoutMs: 10_000, maxBytes: 8 * 1024 * 1024 })

    await apply({ avatar, displayName: 'Later', profileUpdatedAt: 11 })
    expect((await now()).avatar).to.equal(filename)
    expect(home.asked).to.have.length(1)

    await apply({ avatar: null, profileUpdatedAt: 12 })
    expect((await now()).avatar).to.equal(null)
    expect((await identity.call('GET', `/api/uploads/${filename}`)).status).to.equal(404)
    expect(await column(identity, 'select filename from uploads where user_id = ?', [user.id])).to.deep.equal([])
  })

  it('take the texts although a picture cannot be had, which the next report of them brings', async () => {
    const avatar = `${origin}/api/uploads/1.png`
    const failures = [
      tooSlow(),
      { status: 404, headers: { 'content-type': 'image/png' }, body: image },
      { status: 200, headers: { 'content-type': 'text/html' }, body: image },
      { status: 200, headers: {}, body: image },
      { status: 200, headers: { 'content-type': 'image/png' }, body: Buffer.from('<svg/>') },
    ]
    for (const answer of failures) {
      home.answer = answer
      await apply({ avatar })
      expect(await now()).to.include({ displayName: 'Ivy', avatar: null, avatarSource: null })
    }
    home.answer = { status: 200, headers: { 'content-type': 'image/png' }, body: image }

    await apply({ avatar })

    expect((await now()).avatar).to.match(/\.webp$/)
  })

  it('fetch no picture from elsewhere', async () => {
    const elsewhere = [
      'https://evil.example/1.png',
      'http://home.example/1.png',
      'https://home.example:444/1.png',
      '1.png',
    ]
    for (const [index, avatar] of elsewhere.entries()) await apply({ avatar, profileUpdatedAt: 20 + index })

    expect(home.asked).to.deep.equal([])
  })

  describe('while pictures of other homes hang', () => {
    afterEach(async () => {
      home.hanging.resolve()
      await identity.deps.remotePictures.idle()
    })

    function hang(index: number, origin_ = 'https://a.hanging.example'): void {
      const picture = { user: { id: `${index}`, profileUpdatedAt: 1 }, field: 'avatar' } as const
      identity.deps.remotePictures.fetchLater({ ...picture, url: `${origin_}/${index}.png`, origin: origin_ })
    }
    const report = () =>
      identity.deps.bus.request(
        applyRemoteProfiles,
        { origin, host, profiles: [profileOf({ avatar: `${origin}/1.png` })] },
        { timeoutMs: 10_000 },
      )
    const shown = () => eventually('the picture is shown', async () => (await now()).avatar)
    const hangingHosts = () => home.asked.filter(isHanging).map(({ url }) => new URL(url).host)

    it('have theirs at once, and those homes are asked for one at a time', async () => {
      for (let index = 1; index <= 5; index += 1) hang(index)

      await report()

      expect(await shown()).to.match(/\.webp$/)
      expect(hangingHosts()).to.deep.equal(['a.hanging.example'])
    })

    it('have theirs although one home has reported more than may wait', async () => {
      for (let index = 0; index <= policy.remotePictureQueue; index += 1) hang(index)

      await report()

      expect(await shown()).to.match(/\.webp$/)
      home.hanging.resolve()
      await identity.deps.remotePictures.idle()
      expect(hangingHosts()).to.have.length(1 + policy.remotePicturesPerOrigin)
    })

    it('are asked for from a few homes side by side', async () => {
      const letters = ['a', 'b', 'c', 'd', 'e', 'f']
      for (const [index, letter] of letters.entries()) hang(index, `https://${letter}.hanging.example`)
      await eventually('requests', () => home.asked.length >= policy.remotePicturesAtOnce)

      expect(new Set(hangingHosts())).to.have.property('size', 4)
      home.hanging.resolve()
      await identity.deps.remotePictures.idle()
      expect(hangingHosts()).to.have.members(letters.map((letter) => `${letter}.hanging.example`))
      expect(home.mostHangingAtOnce).to.equal(4)
    })
  })
})
