import { openSync } from 'node:fs'
import { expect } from 'chai'
import { createOutput } from './log.ts'

describe('createOutput', () => {
  it('keeps what a full disk does not take, and drops what comes after its reader has gone', () => {
    // Both stay open: an output tries again by its timer, and a closed number soon belongs to a socket of another test.
    const full = openSync('/dev/full', 'w')
    const ended = openSync('/dev/null', 'r')
    const [kept, gone] = [full, ended].map((fd) => createOutput(fd, () => undefined))
    for (const output of [kept!, gone!]) for (const line of ['one\n', 'two\n']) output.write(line, true)

    expect([kept!.dropped(), gone!.dropped()]).to.deep.equal([0, 1])
  })
})
