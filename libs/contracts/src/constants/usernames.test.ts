import { expect } from 'chai'
import fc from 'fast-check'
import {
  baseUsername,
  handleOf,
  isFederatedUsername,
  isHost,
  isLocalUsername,
  normalizeUsername,
  parseFederatedUsername,
  usernameHere,
} from './usernames.ts'

const localPart = fc.stringMatching(/^[a-z0-9_]{3,32}$/)
const host = fc.stringMatching(/^[a-zA-Z0-9._-]{1,60}$/)

describe('Usernames', () => {
  it('are stored trimmed and in lower case', () => {
    expect(normalizeUsername('  Ada_99\t')).to.equal('ada_99')
  })

  it('Registration 1: a local one has 3 to 32 of a-z, 0-9 and _', () => {
    const good = ['abc', '___', '0_9', 'a'.repeat(32)]
    const bad = ['ab', 'a'.repeat(33), 'Abc', 'a b', 'abc\n', 'äbc', 'abc@x', 'a.c', '', 'ａｂｃ']

    expect(good.map(isLocalUsername)).to.deep.equal(good.map(() => true))
    expect(bad.map(isLocalUsername)).to.deep.equal(bad.map(() => false))
  })

  it('Registration 2: a federated one is a local name, an @ and a domain, 100 characters in all', () => {
    const good = ['abc@x', 'abc@Chat.Example', `abc@${'d'.repeat(96)}`, `${'a'.repeat(32)}@${'d'.repeat(67)}`]
    const bad = [
      'abc',
      'abc@',
      '@chat.example',
      'ab@chat.example',
      'Abc@chat.example',
      'abc@chat@example',
      'abc@chat.example:8080',
      'abc@chat example',
      `abc@${'d'.repeat(97)}`,
      `${'a'.repeat(33)}@x`,
      'bob~@x',
      '~1@x',
      'ab~1@x',
      'bob~1~2@x',
      'bob~g@x',
      'bob~123456789@x',
      `${'a'.repeat(31)}~1@x`,
    ]

    expect(good.map(isFederatedUsername)).to.deep.equal(good.map(() => true))
    expect(bad.map(isFederatedUsername)).to.deep.equal(bad.map(() => false))
  })

  it('are never both local and federated, whatever the text', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 120 }), (name) => !(isLocalUsername(name) && isFederatedUsername(name))),
    )
    fc.assert(fc.property(localPart, (name) => isLocalUsername(name) && !isFederatedUsername(name)))
  })

  /** Contract: 7, Stubs. */
  it('may have the suffix of a stub, which is no part of the handle', () => {
    const names = ['bob~1@x', 'bob~10@home.example', 'bob_1~0badcafe@x', `${'a'.repeat(30)}~1@x`]

    expect(names.filter((name) => !isFederatedUsername(name))).to.deep.equal([])
    expect(names.slice(0, 3).map(handleOf)).to.deep.equal(['bob', 'bob', 'bob_1'])
    expect([isLocalUsername('bob~1'), baseUsername('bob~1@x')]).to.deep.equal([false, 'bob~1'])
  })

  it('have a base name: what stands before the @', () => {
    fc.assert(
      fc.property(localPart, host, (local, domain) => {
        expect(isFederatedUsername(`${local}@${domain}`)).to.equal(true)
        expect(baseUsername(`${local}@${domain}`)).to.equal(local)
        expect(baseUsername(local)).to.equal(local)
      }),
    )
  })
})

describe('The username that a person means here', () => {
  const meant = (typed: string) => usernameHere(typed, 'home.example:8443')

  it('lacks the own host and the @ in front', () => {
    for (const typed of [
      'alice',
      ' Alice ',
      '@alice',
      'alice@home.example',
      '@ALICE@Home.Example',
      'alice@home.example:8443',
    ])
      expect(meant(typed), typed).to.equal('alice')
  })

  it('keeps another host, and what is no name', () => {
    for (const typed of ['alice@other.example', 'alice@home.example.other', 'alice@nothome.example', 'alice@', ''])
      expect(meant(typed), typed).to.equal(typed)
    expect(meant('@alice@other.example')).to.equal('alice@other.example')
    expect(meant('@@alice')).to.equal('@alice')
  })
})

describe('Client session behaviour: parseFederatedUsername', () => {
  it('splits <base>@<domain> into base name and domain, null when there is no @', () => {
    expect(parseFederatedUsername('alice@home.example')).to.deep.equal({ baseName: 'alice', domain: 'home.example' })
    expect(parseFederatedUsername('alice')).to.deep.equal({ baseName: 'alice', domain: null })
  })

  it('loses no character, leaves no @ in the base, and gives a domain exactly when there is an @', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.emailAddress(), fc.stringMatching(/^[a@.]*$/)), (username) => {
        const { baseName, domain } = parseFederatedUsername(username)
        expect(domain === null ? baseName : `${baseName}@${domain}`).to.equal(username)
        expect(baseName).not.to.include('@')
        expect(domain !== null).to.equal(username.includes('@'))
      }),
    )
  })
})

describe('Hosts', () => {
  it('have 1 to 253 of the allowed characters', () => {
    expect(['x', 'Chat.Example', 'a_b-c.d', 'x'.repeat(253)].map(isHost)).to.deep.equal([true, true, true, true])
    expect(['', 'x'.repeat(254), 'a/b', 'a:1', 'a b', 'é', 'a\n'].map(isHost)).to.deep.equal(Array(7).fill(false))
  })
})
