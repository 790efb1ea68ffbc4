// `npm run gatehouse -- <command>`, in the image `gatehouse <command>`: the operator's command line.
import './small-heap.ts'
import { runCommandLine } from './program.ts'

const { stdin: input, stdout: output, stderr: errors } = process
const terminal = { input, output, errors, isInteractive: input.isTTY && errors.isTTY }
process.exitCode = await runCommandLine(process.argv.slice(2), { environment: process.env, terminal })
