import { expect } from 'chai'
import pg from 'pg'
import { isServerLost, storageFailure } from './failure.ts'

const sent = (code: string) => Object.assign(new pg.DatabaseError('as PostgreSQL has it', 1, 'error'), { code })
const explain = (error: unknown) => {
  const failure = storageFailure(error, 'nothing was changed')
  return failure && [failure.exitCode, failure.message]
}

describe('what PostgreSQL sends to a command', () => {
  it('is told in one line where it cannot do the work now, and left to the command otherwise', () => {
    expect(explain(sent('57P01'))).to.deep.equal([5, 'lost the connection to PostgreSQL: nothing was changed'])
    expect(explain(sent('53100'))).to.deep.equal([1, 'the disk is full: nothing was changed'])
    expect(explain(sent('25006'))![1]).to.match(/^PostgreSQL is read-only .*: nothing was changed$/)
    expect(explain(sent('53200'))![1]).to.match(/^PostgreSQL is out of .*: nothing was changed$/)
    expect(['25006', '53200'].map((code) => explain(sent(code))![0])).to.deep.equal([5, 5])
    expect(['23505', '55P03', '40P01'].map((code) => explain(sent(code)))).to.deep.equal([null, null, null])
  })

  it('may be lost: only then a commit may have happened', () => {
    const errors = [sent('08006'), sent('57P04'), sent('25P03'), new Error('Connection terminated unexpectedly')]

    expect(errors.map(isServerLost)).to.deep.equal([true, true, true, true])
    expect(['25006', '53100', '23505'].map((code) => isServerLost(sent(code)))).to.deep.equal([false, false, false])
  })
})
