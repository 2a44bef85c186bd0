package main

import "strings"

// scene is one way in which the processes around a refund can die.
type scene struct {
	title    string
	troubles []trouble // of the bank
	kills    []moment  // of the agent's processes, one after the other
	plain    []moment  // of those without a guard
	approve  bool      // a person has to approve first
	decision moment    // where the process in which she decides is killed
	resumed  []moment  // of the agent's processes after that
	only     string    // the kind of tool this can happen to; "" is any
	calls    int       // of the model, in the process that is not killed; if zero, 3
}

func (s *scene) mostCalls() int {
	if s.calls == 0 {
		return 3
	}
	return s.calls
}

// suits says whether the scene can be played with a kind of tool.
func (s *scene) suits(tool string) bool { return s.only == "" || s.only == tool }

// name is the title as a part of file names.
func (s *scene) name() string {
	return strings.NewReplacer(" ", "-", ",", "").Replace(s.title)
}

// scenes are what `go run` shows, and the columns of the crash matrix.
var scenes = []scene{
	{title: "before the intent is written", kills: []moment{beforeIntent}, plain: []moment{beforeIntent}},
	{title: "after the intent is written", kills: []moment{afterIntent}, plain: []moment{afterIntent}},
	{
		title:    "after the request has left, which is lost",
		troubles: []trouble{loseRequest}, kills: []moment{requestLeft}, plain: []moment{requestLeft},
	},
	{
		title:    "after the request has left, which arrives",
		troubles: []trouble{late}, kills: []moment{requestLeft}, plain: []moment{requestLeft},
	},
	{title: "after the effect", kills: []moment{afterEffect}, plain: []moment{afterEffect}},
	{title: "before the outcome is written", kills: []moment{beforeSettle}, plain: []moment{beforeSettle}},
	{title: "after the outcome is written", kills: []moment{afterSettle}, plain: []moment{afterSettle}},
	{
		title: "during recovery, before it notes anything",
		kills: []moment{afterEffect, beforeDoubt}, plain: []moment{afterEffect, afterEffect},
	},
	{
		title: "during recovery, once it has noted the doubt",
		kills: []moment{afterEffect, afterDoubt}, plain: []moment{afterEffect, afterEffect},
	},
	{
		title: "during recovery, once it has asked the bank",
		kills: []moment{afterEffect, bankAsked}, plain: []moment{afterEffect, afterEffect}, only: withStatus,
	},
	{
		title: "during recovery, once it has written its finding",
		kills: []moment{afterEffect, afterRecovery}, plain: []moment{afterEffect, afterEffect},
	},
	{title: "while a person approves", approve: true, decision: beforeDecision},
	{title: "when a person has approved", approve: true, decision: afterDecision},
	{
		title:   "approved, and then after the effect",
		approve: true, resumed: []moment{afterEffect}, plain: []moment{afterEffect},
	},
	{
		title: "while a person decides what is in doubt",
		kills: []moment{afterEffect}, plain: []moment{afterEffect}, decision: beforeDecision, only: withNone,
	},
	{
		title: "when a person has decided what is in doubt",
		kills: []moment{afterEffect}, plain: []moment{afterEffect}, decision: afterDecision, only: withNone,
	},
	{
		title:    "when a person has let it run again",
		troubles: []trouble{loseRequest}, kills: []moment{requestLeft}, plain: []moment{requestLeft},
		decision: afterDecision, only: withNone,
	},
}

// everydayStory is what happens without anybody being killed: the bank books the
// refund and does not answer in time, three times. The model reads that something
// went wrong, plans anew, and calls again.
var everydayStory = scene{
	title:    "the everyday story",
	troubles: []trouble{silence, silence, silence},
	calls:    2,
}
