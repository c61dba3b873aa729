/** The built-in tools as the model is told of them. Names and parameters are those models are trained on. */
import { MODEL_STATUSES } from './thread-goal.ts'

interface ToolSpec {
  type: 'function' | 'custom'
  name: string
  [member: string]: unknown
}

const text = (description: string) => ({ type: 'string', description })
const number = (description: string) => ({ type: 'number', description })
const flag = (description: string) => ({ type: 'boolean', description })
const texts = (description: string) => ({ type: 'array', items: { type: 'string' }, description })
const list = (items: unknown, description: string) => ({ type: 'array', items, description })
const object = (properties: Record<string, unknown>, required: string[] = []) => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
})

const tool = (name: string, description: string, parameters: unknown): ToolSpec => ({
  type: 'function',
  name,
  description,
  strict: false,
  parameters,
})

/** The patch format as a Lark grammar, for servers that constrain the answer with it. */
const PATCH_GRAMMAR = `start: begin_patch hunk+ end_patch
begin_patch: "*** Begin Patch" LF
end_patch: "*** End Patch" LF?
hunk: add_hunk | delete_hunk | update_hunk
add_hunk: "*** Add File: " path LF add_line*
delete_hunk: "*** Delete File: " path LF
update_hunk: "*** Update File: " path LF move? chunk+
move: "*** Move to: " path LF
chunk: header* line+ end_of_file?
header: ("@@" | "@@ " /(.+)/) LF
add_line: "+" /(.*)/ LF
line: ("+" | "-" | " ") /(.*)/ LF
end_of_file: "*** End of File" LF
path: /(.+)/
%import common.LF
`

export const TOOL_SPECS: readonly ToolSpec[] = [
  tool(
    'exec_command',
    'Runs a shell command and returns its output, or a session ID when it is still running after yield_time_ms.',
    object(
      {
        cmd: text('The command line, given to a shell.'),
        workdir: text('Folder to run in; the current one when left out.'),
        shell: text('Shell program to use instead of the default one.'),
        login: flag('Whether the shell reads the login profile. Default true.'),
        tty: flag('Gives the command a terminal, so that write_stdin can type into it. Default false.'),
        yield_time_ms: number('How long to wait for output before answering. Default 10000, 250 to 30000.'),
        max_output_tokens: number('Longer output is cut in the middle. Default 10000.'),
        sandbox_permissions: {
          type: 'string',
          enum: ['use_default', 'require_escalated'],
          description: 'require_escalated asks the person to run it outside the sandbox.',
        },
        justification: text('With require_escalated: the question shown to the person.'),
        prefix_rule: texts(
          'With require_escalated: the first words of commands like this one that may be allowed from now on, e.g. ["git","pull"].',
        ),
      },
      ['cmd'],
    ),
  ),
  tool(
    'write_stdin',
    'Types into a running exec_command session, or polls it when chars is empty, and returns its new output.',
    object(
      {
        session_id: number('The session ID that exec_command gave.'),
        chars: text('What to type, with control characters as such. Empty to only look.'),
        yield_time_ms: number('How long to wait for output. Default 250 after typing, 5000 when polling.'),
        max_output_tokens: number('Longer output is cut in the middle. Default 10000.'),
      },
      ['session_id'],
    ),
  ),
  tool(
    'update_plan',
    'Shows the person a checklist of the work. At most one step is in progress.',
    object(
      {
        explanation: text('Why the plan changed.'),
        plan: list(
          object(
            { step: text('One step.'), status: { type: 'string', enum: ['pending', 'in_progress', 'completed'] } },
            ['step', 'status'],
          ),
          'All steps, in order.',
        ),
      },
      ['plan'],
    ),
  ),
  tool(
    'request_user_input',
    'Asks the person one to three short questions and waits for the answers. Available in Plan mode.',
    object(
      {
        questions: list(
          object(
            {
              id: text('Name of the answer, in snake_case.'),
              header: text('A label of at most 12 characters.'),
              question: text('One sentence.'),
              options: list(
                object({ label: text('One to five words.'), description: text('What choosing it means.') }, [
                  'label',
                  'description',
                ]),
                'Two or three choices, the recommended one first.',
              ),
            },
            ['id', 'header', 'question', 'options'],
          ),
          'One to three questions.',
        ),
      },
      ['questions'],
    ),
  ),
  tool(
    'request_permissions',
    'Asks the person for more than the sandbox allows: folders to read or write, or the network.',
    object(
      {
        reason: text('Why it is needed, for the person.'),
        permissions: object({
          network: object({ enabled: flag('Network access.') }),
          file_system: object({ read: texts('Absolute paths to read.'), write: texts('Absolute paths to write.') }),
        }),
      },
      ['permissions'],
    ),
  ),
  tool('get_goal', 'Gives the goal of this session, what it has used, and what is left of its budget.', object({})),
  tool(
    'create_goal',
    'Sets a goal that the session works towards over several turns. Only when the person asks for one; an ordinary task is none.',
    object(
      {
        objective: text('What is to be reached, concretely.'),
        token_budget: { type: 'integer', description: 'Only when the person named a budget.' },
      },
      ['objective'],
    ),
  ),
  tool(
    'update_goal',
    'Says how the goal stands: complete when all of it is reached and checked; blocked when you cannot go on without the person; paused only when the person asks for it.',
    object({ status: { type: 'string', enum: MODEL_STATUSES, description: 'How it stands now.' } }, ['status']),
  ),
  tool(
    'list_mcp_resources',
    'Lists what MCP servers have to read: files, pages, records. Of all servers when none is named.',
    object({ server: text('Name of a server.'), cursor: text('From the page before; needs the server.') }),
  ),
  tool(
    'list_mcp_resource_templates',
    'Lists patterns of addresses that MCP servers can be asked to read.',
    object({ server: text('Name of a server.'), cursor: text('From the page before; needs the server.') }),
  ),
  tool(
    'read_mcp_resource',
    'Reads one of them.',
    object({ server: text('Name of the server.'), uri: text('Its address, as it was listed.') }, ['server', 'uri']),
  ),
  {
    type: 'custom',
    name: 'apply_patch',
    description:
      'Edits files with a patch. The whole input is the patch text, not JSON. All of it applies or nothing does.',
    format: { type: 'grammar', syntax: 'lark', definition: PATCH_GRAMMAR },
  },
  tool(
    'view_image',
    'Attaches an image file of this machine so that you can see it.',
    object({ path: text('Path of the image.') }, ['path']),
  ),
]
