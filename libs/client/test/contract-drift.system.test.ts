import { expect } from 'chai'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import ts from 'typescript'

const root = resolve(import.meta.dirname, '../../..')
const contracts = join(root, 'libs/contracts/src')

/** The lines of the client library, and of pages that call it, that no longer compile when the contract has these texts in place of others. */
function linesThatBreak(changes: { file: string; from: string; to: string }[]): string[] {
  const config = ts.getParsedCommandLineOfConfigFile(
    join(root, 'tsconfig.json'),
    {},
    {
      ...ts.sys,
      onUnRecoverableConfigFileDiagnostic: (diagnostic) => {
        throw new Error(ts.flattenDiagnosticMessageText(diagnostic.messageText, '\n'))
      },
    },
  )
  const host = ts.createCompilerHost({ ...config?.options })
  const read = host.readFile.bind(host)
  host.readFile = (name) =>
    changes
      .filter(({ file }) => resolve(name) === join(contracts, file))
      .reduce((text, { from, to }) => {
        if (!text?.includes(from)) throw new Error(`${name} does not contain ${from}`)
        return text.replace(from, to)
      }, read(name))
  const callers = ['vite-env.d.ts', 'home/home-page.tsx', 'admin/invites-section.tsx', 'admin/user-menu.tsx']
  const files = callers.map((file) => join(root, 'services/web/src', file.includes('/') ? 'pages' : '', file))
  const program = ts.createProgram(
    [join(root, 'libs/client/src/index.ts'), ...files],
    { ...config?.options, types: [] },
    host,
  )
  return ts.getPreEmitDiagnostics(program).map(({ file, start = 0 }) => {
    if (!file) throw new Error('an error without a place')
    const { line } = file.getLineAndCharacterOfPosition(start)
    return readFileSync(file.fileName, 'utf8').split('\n')[line]?.trim() ?? ''
  })
}

describe('A change of the contract', () => {
  it('is a type error in the client wherever it is not followed', () => {
    const lines = linesThatBreak([
      { file: 'endpoints/table.ts', from: "'/api/users/:id'", to: "'/api/users/:userId'" },
      { file: 'endpoints/table.ts', from: 'deleteInvite: ', to: 'removeInvite: ' },
      { file: 'endpoints/invites.ts', from: 'deleteInvite: ', to: 'removeInvite: ' },
      { file: 'users.ts', from: 'verifyPasswordReply = z.object({ valid:', to: 'verifyPasswordReply = z.object({ ok:' },
      { file: 'admin.ts', from: 'roleBody = z.object({ isAdmin:', to: 'roleBody = z.object({ role:' },
      { file: 'constants/close-codes.ts', from: 'passwordReset =', to: 'adminReset =' },
      {
        file: 'constants/socket-errors.ts',
        from: 'passwordReset: closing(closeCodes.passwordReset',
        to: 'adminReset: closing(closeCodes.adminReset',
      },
    ])

    expect(lines).to.have.members([
      "const results = await Promise.allSettled(ids.map((id) => client.call('getUser', { params: { id }, signal })))",
      "act: (client, { id }) => client.call('deleteInvite', { params: { id } }),",
      "act={() => client.call('setRole', { params: { id: user.id }, body: { isAdmin: promote } })}",
      "verifyPassword: 'valid',",
      "const { valid } = await api.call('verifyPassword', { body, ...options })",
      '[closeCodes.passwordReset]: {',
    ])
  })
})
