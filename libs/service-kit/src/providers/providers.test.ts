import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { capturedLog, eventually } from '@gatehouse/test-kit'
import { expect } from 'chai'
import { ConfigurationError } from '../config/configuration.ts'
import { readProviders, watchProviders } from './providers.ts'

const right = {
  id: 'own',
  name: 'Our own',
  issuer: 'https://login.example',
  clientId: 'chat',
  clientSecret: 'a secret',
}

describe('The file of identity providers', () => {
  let folder: string
  let path: string
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'providers-'))
    path = join(folder, 'providers.yaml')
  })
  after(async () => await rm(folder, { recursive: true }))

  const write = async (...providers: object[]) => await writeFile(path, JSON.stringify({ providers }))
  const read = async (...providers: object[]) => {
    await write(...providers)
    return await readProviders(path)
  }
  const faultsOf = async (...providers: object[]): Promise<readonly string[]> => {
    const error = await read(...providers).catch((error: unknown) => error)
    return error instanceof ConfigurationError ? error.message.split('\n') : []
  }

  it('may leave out what has a default', async () => {
    expect(await read(right)).to.deep.equal([
      {
        ...right,
        scopes: ['openid', 'profile'],
        usernameClaim: 'preferred_username',
        registration: 'gate',
        secondFactor: 'ask',
      },
    ])
    expect((await read({ ...right, scopes: 'openid  email' }))[0]?.scopes).to.deep.equal(['openid', 'email'])
  })

  it('is YAML too, with the secret in a file of its own', async () => {
    const clientSecretFile = join(folder, 'secret')
    await writeFile(clientSecretFile, 'from a file\n')
    const lines = ['id: own', 'name: Our own', 'issuer: http://127.0.0.1:9000', 'clientId: chat']
    await writeFile(
      path,
      ['providers:', '  -', ...[...lines, `clientSecretFile: ${clientSecretFile}`].map((line) => `    ${line}`)].join(
        '\n',
      ),
    )

    const [provider] = await readProviders(path)

    expect(provider).to.include({ clientSecret: 'from a file', issuer: 'http://127.0.0.1:9000' })
    expect(provider).not.to.have.property('clientSecretFile')
  })

  it('names each fault and its place, and quotes no secret', async () => {
    const { clientSecret: _, ...secretless } = right
    const faulty: [object, string][] = [
      [{ ...right, id: 'Own' }, 'providers[0].id: must be 1 to 32 lowercase letters, digits and hyphens'],
      [secretless, 'providers[0].clientSecret: needs either clientSecret or clientSecretFile'],
      [
        { ...right, clientSecretFile: path },
        'providers[0].clientSecret: needs either clientSecret or clientSecretFile',
      ],
      [
        { ...secretless, clientSecretFile: '/nowhere' },
        'providers[0].clientSecretFile: cannot read the file it names, or it is empty',
      ],
      [{ ...right, scopes: ['email'] }, 'providers[0].scopes: must include openid'],
      [{ ...right, icon: 'https://a.example/a.png' }, 'providers[0].icon: must be an image as data:image/…;base64,…'],
      [{ ...right, scopes: 7 }, 'providers[0].scopes: must be a list of texts, or a text with spaces between them'],
    ]
    for (const [entry, fault] of faulty) expect(await faultsOf(entry)).to.deep.equal([fault])
    const other = { ...right, id: 'other' }
    expect(await faultsOf(right, other)).to.deep.equal(['providers[1].issuer: is that of providers[0]'])
    expect(await faultsOf(right, { ...right, issuer: 'https://b.example' })).to.deep.equal([
      'providers[1].id: is that of providers[0]',
    ])
    expect((await faultsOf({ ...right, secret: 'a' })).join()).not.to.include('a secret')
  })

  it('takes issuers by https, or by http on a loopback address', async () => {
    const issuers = [
      'https://a.example',
      'https://a.example/realms/b',
      'http://localhost:9000',
      'http://127.0.0.1',
      'http://[::1]:9000',
    ]
    const others = [
      'http://a.example',
      'ftp://a.example',
      'https://a:b@a.example',
      'https://a.example?b',
      'https://a.example#b',
      'a.example',
      'http://127.0.0.1.a.example',
    ]
    for (const issuer of issuers) expect(await faultsOf({ ...right, issuer }), issuer).to.deep.equal([])
    for (const issuer of others) expect(await faultsOf({ ...right, issuer }), issuer).to.have.length(1)
  })

  it('is read again at SIGHUP; a faulty one leaves what was before', async () => {
    const { log, lines } = capturedLog()
    await write(right)
    using watch = await watchProviders(path, { log })
    const ids = () => watch.current.map(({ id }) => id)
    await write(right, { ...right, id: 'other', issuer: 'https://other.example' })
    process.emit('SIGHUP')
    await eventually('the second provider', () => ids().length === 2)
    await writeFile(path, 'providers: [')
    process.emit('SIGHUP')
    await eventually('the fault', () =>
      lines.some(({ msg }) => msg === 'providers not read: those of before stay in force'),
    )

    expect(ids()).to.deep.equal(['own', 'other'])
    expect(JSON.stringify(lines)).not.to.include('a secret')
  })
})
