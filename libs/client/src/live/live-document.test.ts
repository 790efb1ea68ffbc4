import { readFileSync } from 'node:fs'
import { clientMessages, closures, serverMessages, socketErrors } from '@gatehouse/contracts'
import { closeCodes } from '@gatehouse/contracts/constants'
import { expect } from 'chai'
import { findSessionEnd } from './frames.ts'

const page = readFileSync(new URL('../../../../docs/reference/sockets.md', import.meta.url), 'utf8')

/** The cells of the table below a heading, without its first two lines. */
function rowsOf(heading: string): string[][] {
  const [, section = ''] = page.split(`\n## ${heading}\n`)
  const lines = section.split('\n## ')[0]!.split('\n')
  const rows = lines.filter((line) => line.startsWith('|')).slice(2)
  return rows.map((row) =>
    row
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim()),
  )
}

const wordsOf = (cell = ''): string[] => [...cell.matchAll(/`(\w+)`/g)].map(([, word]) => word!)

/** Type and fields of each message. */
const declared = (messages: typeof clientMessages | typeof serverMessages) =>
  messages.map(({ shape }) => [shape.type.value, Object.keys(shape).filter((field) => field !== 'type')] as const)

const documented = (heading: string) =>
  rowsOf(heading).map(([type, fields]) => [wordsOf(type)[0], wordsOf(fields)] as const)

describe('docs/reference/sockets.md', () => {
  it('has every message of the client, with its fields', () => {
    const types = documented('From the client').map(([type]) => type)
    expect(types).to.deep.equal(declared(clientMessages).map(([type]) => type))
    for (const [index, [, fields]] of declared(clientMessages).entries()) {
      expect(documented('From the client')[index]![1]).to.include.members(fields)
    }
  })

  it('has every message of the server, with its fields but those of ready that belong to a chat', () => {
    const rows = documented('From the server')
    expect(rows.map(([type]) => type)).to.deep.equal(declared(serverMessages).map(([type]) => type))
    for (const [index, [type, fields]] of declared(serverMessages).entries()) {
      if (type === 'ready') expect(fields).to.include.members(rows[index]![1])
      else expect(rows[index]![1]).to.include.members(fields)
    }
  })

  it('has every error after which the socket stays open', () => {
    const codes = rowsOf('Errors after which the socket stays open').map(([code]) => wordsOf(code)[0])

    expect(codes).to.deep.equal(Object.keys(socketErrors))
  })

  it('has every close code with its message and error, and says what the client library does', () => {
    const ends = (code: number): string => {
      if (findSessionEnd(code)) return 'ends the session'
      return code === closeCodes.tooManyConnections ? 'waits' : 'connects again'
    }
    const rows = rowsOf('Close codes').map(([code, message, error, does = '']) => {
      const action = ['ends the session', 'waits', 'connects again'].find((words) => does.startsWith(words))
      return [Number(code), message, wordsOf(error)[0], action]
    })

    expect(rows).to.have.deep.members(
      Object.values(closures).map(({ code, message, error }) => [code, message, error, ends(code)]),
    )
  })
})
